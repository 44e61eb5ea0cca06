package hns_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// The host's own endpoint: attached twice is attached; attached elsewhere is
// an error that says where (projectcalico/calico#4280). Older builds give no
// code, and there too the text does not count.
func TestAttachHost(t *testing.T) {
	for _, codeless := range []bool{false, true} {
		n := newNode(t, &emulator.Options{V1TextErrors: codeless, Text: func(hns.Code) string { return "irgendein Fehler " }})
		ctx := t.Context()
		host := n.endpoint(hns.Endpoint{Name: "lake_ep", Routes: []hns.Route{hns.DefaultRoute(addr("0.0.0.0"))}}, hns.ID{})
		for range 3 {
			n.must(n.Endpoints.AttachHost(ctx, host.ID))
		}
		state, err := n.Endpoints.State(ctx, host.ID)
		if err != nil || state != hns.EndpointAttached {
			t.Errorf("state %s, %v", state, err)
		}
		for range 2 {
			n.must(n.Endpoints.DetachHost(ctx, host.ID))
		}

		pod := n.endpoint(hns.Endpoint{Name: "pod"}, podNS)
		err = n.Endpoints.AttachHost(ctx, pod.ID)
		wantIs(t, err, hns.ErrAttached)
		if want := "attach endpoint to host " + pod.ID.String(); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "to namespace "+podNS.String()) {
			t.Errorf("error %v", err)
		}

		docker := n.endpoint(hns.Endpoint{Name: "docker"}, hns.ID{})
		_, err = n.h.Do(hns.Request{Verb: hns.VerbCall, Method: "POST", Path: "/endpoints/" + docker.ID.Upper() + "/attach", Document: []byte(`{"SystemType":"Container","ContainerId":"c1"}`)})
		n.must(err)
		err = n.Endpoints.AttachHost(ctx, docker.ID)
		wantIs(t, err, hns.ErrAttached)
		if !strings.Contains(err.Error(), "to container c1") {
			t.Errorf("error %v", err)
		}

		gone := hns.NewID()
		for _, err := range []error{n.Endpoints.AttachHost(ctx, gone), n.Endpoints.DetachHost(ctx, gone)} {
			if codeless {
				wantIs(t, err) // all that is known is that it failed
				continue
			}
			wantIs(t, err, hns.ErrNotFound)
		}
	}
}

// Failures beside the known ones are passed on, and so is a question that
// cannot be answered.
func TestAttachHostFails(t *testing.T) {
	n := newNode(t, nil)
	ep := n.endpoint(hns.Endpoint{Name: "lake_ep"}, hns.ID{})
	call := func(nth int, code hns.Code) func() {
		return n.h.Inject(emulator.Fault{Verb: hns.VerbCall, Nth: nth, Code: code, Text: "x"})
	}
	for _, tt := range []struct {
		attach, read hns.Code
		want         []error
	}{
		{hns.CodeDegraded, 0, []error{hns.ErrDegraded}},
		{hns.CodeRPCUnavailable, 0, []error{hns.ErrUnavailable}},
		{hns.CodeEndpointAttached, hns.CodeAccessDenied, []error{hns.ErrAttached, hns.ErrDenied}},
		{0, hns.CodeAccessDenied, []error{hns.ErrDenied}}, // no code
		{0, 0, []error{}},
	} {
		remove := []func(){call(1, tt.attach)}
		if tt.read != 0 {
			remove = append(remove, call(2, tt.read))
		}
		wantIs(t, n.Endpoints.AttachHost(t.Context(), ep.ID), tt.want...)
		for _, f := range remove {
			f()
		}
	}
	if e := n.read(ep.ID); e.State != hns.EndpointCreated {
		t.Errorf("state %s", e.State)
	}
}

func TestManagementIP(t *testing.T) {
	for doc, want := range map[string]netip.Addr{
		`{"ManagementIP":"192.0.2.10"}`: addr("192.0.2.10"), `{"managementip":"192.0.2.10/24"}`: addr("192.0.2.10"),
		`{"ManagementIP":"169.254.7.7"}`: addr("169.254.7.7"), `{"ManagementIP":""}`: {}, `{"ManagementIP":null}`: {}, `{}`: {},
	} {
		got, err := hns.New(answering(doc), nil).Networks.ManagementIP(t.Context(), lake)
		if err != nil || got != want {
			t.Errorf("%s reads as %v, %v", doc, got, err)
		}
	}
	for _, doc := range []string{`{"ManagementIP":"<node>"}`, `{"ManagementIP":{}}`, `null`, `[]`} {
		_, err := hns.New(answering(doc), nil).Networks.ManagementIP(t.Context(), lake)
		wantIs(t, err, hns.ErrInvalid)
	}
	if _, err := hns.New(answering(), nil).Networks.ManagementIP(t.Context(), lake); err == nil || !strings.Contains(err.Error(), "0 objects") {
		t.Errorf("error %v", err)
	}
}

// The address appears some time after the create (flannel-io/flannel#1066).
func TestManagementIPComesLate(t *testing.T) {
	h := emulator.New(&emulator.Options{AddressAfterReads: 3})
	c := hns.New(h, nil)
	n, err := c.Networks.Create(t.Context(), &hns.Network{Name: "lake", Type: hns.L2Bridge, IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{Prefix: prefix("10.50.3.0/24"), Routes: []hns.Route{hns.DefaultRoute(addr("10.50.3.1"))}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	reads := 0
	for ; reads < 10; reads++ {
		ip, err := c.Networks.ManagementIP(t.Context(), n.ID)
		if err != nil {
			t.Fatal(err)
		}
		if ip.IsValid() {
			same(t, "management IP", addr("192.0.2.10"), ip)
			break
		}
	}
	if reads == 0 || reads == 10 {
		t.Errorf("there after %d reads", reads)
	}
}
