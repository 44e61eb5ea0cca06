package cniplugin_test

import (
	"errors"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

const namespaceText = "11111111-2222-4333-8444-555555555501"

func namespaceID(tb testing.TB) hns.ID {
	tb.Helper()
	id, err := hns.ParseID(namespaceText)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// What runtimes put into CNI_NETNS (Azure/azure-container-networking#706,
// aws/amazon-vpc-cni-plugins#56).
func TestParseNetns(t *testing.T) {
	ns := cniplugin.Netns{Kind: cniplugin.NetnsNamespace, Namespace: namespaceID(t)}
	for text, want := range map[string]cniplugin.Netns{
		"":                                       {Kind: cniplugin.NetnsUnset},
		"none":                                   {Kind: cniplugin.NetnsPause},
		"container:sbx-01":                       {Kind: cniplugin.NetnsContainer, Container: "sbx-01"},
		namespaceText:                            ns,
		"{" + namespaceText + "}":                ns,
		"11111111-2222-4333-8444-55555555550A":   {Kind: cniplugin.NetnsNamespace, Namespace: hns.ID{0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x43, 0x33, 0x84, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x0a}},
		"{11111111-2222-4333-8444-55555555550a}": {Kind: cniplugin.NetnsNamespace, Namespace: hns.ID{0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x43, 0x33, 0x84, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x0a}},
	} {
		got, err := cniplugin.ParseNetns(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
	// containerd/containerd#6305: a name made the client panic.
	for _, text := range []string{namespaceText + " ", " " + namespaceText, "{" + namespaceText, "/var/run/netns/x", "web-ns-1", "container:", "None",
		"00000000-0000-0000-0000-000000000000", "1111111122224333844455555555550101"} {
		if got, err := cniplugin.ParseNetns(text); !errors.Is(err, hns.ErrInvalid) || got != (cniplugin.Netns{}) {
			t.Errorf("%q: %v, %v; want ErrInvalid", text, got, err)
		}
	}
}

// ADD and CHECK need a namespace, and say so before anything else is done. The
// forms that dockershim sends, once for each container of a pod, are no namespaces
// (ovn-kubernetes/ovn-kubernetes#580, Azure/azure-container-networking#367).
func TestNetnsOfDockershim(t *testing.T) {
	n := newBridge(t, nil)
	args := n.pod("sbx-01").args(n.config())
	for _, netns := range []string{"", "none", "container:sbx-01", "x"} {
		args.Netns = netns
		_, errAdd := n.plugin.Add(t.Context(), args)
		for verb, err := range map[string]error{"ADD": errAdd, "CHECK": n.plugin.Check(t.Context(), args)} {
			if diff := cmp.Diff([]string{"CNI_NETNS"}, paths(err)); diff != "" || codeOf(err) != types.ErrInvalidEnvironmentVariables {
				t.Errorf("%s with %q: code %d, %v", verb, netns, codeOf(err), err)
			}
		}
	}
	untouched(t, n)
}

// DEL may have lost the namespace, and whatever stands there is no reason to keep
// the endpoint (Azure/azure-container-networking#1272).
func TestDelWhateverTheNetns(t *testing.T) {
	for _, netns := range []string{"", "none", "x", namespaceText} {
		n := newBridge(t, nil)
		p := n.pod("sbx-01")
		p.mustAdd()
		args := p.args(p.config())
		args.Netns = netns
		if err := n.plugin.Del(t.Context(), args); err != nil || len(n.state()) > 0 {
			t.Errorf("DEL with %q: %v, left %v", netns, err, n.state())
		}
	}
}

func FuzzParseNetns(f *testing.F) {
	for _, s := range []string{"", "none", "container:x", namespaceText, "{" + namespaceText + "}", namespaceText + " "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := cniplugin.ParseNetns(text)
		if err != nil {
			if !errors.Is(err, hns.ErrInvalid) || got != (cniplugin.Netns{}) {
				t.Fatalf("%v, %v", got, err)
			}
			return
		}
		if (got.Kind == cniplugin.NetnsNamespace) == got.Namespace.IsZero() || (got.Kind == cniplugin.NetnsContainer) == (got.Container == "") {
			t.Fatalf("%q: %+v", text, got)
		}
		if got.Kind == cniplugin.NetnsNamespace {
			if again, err := cniplugin.ParseNetns(got.Namespace.String()); err != nil || again != got {
				t.Fatalf("%q: read back as %+v, %v", text, again, err)
			}
		}
	})
}
