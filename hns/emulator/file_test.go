package emulator_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/internal/filelock"
)

func openNode(t testing.TB, path string, opts *emulator.Options) *node {
	t.Helper()
	h, err := emulator.Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	return &node{t, h}
}

func TestFileIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "hns.json")
	a := openNode(t, path, &emulator.Options{Seed: 1})
	b := openNode(t, path, nil)
	lake := a.lake()
	ns := b.id(hns.KindNamespace, namespaceDoc)
	ep := b.id(hns.KindEndpoint, endpoint(lake, "x"))
	if code := a.join("Add", ns, ep); code != 0 {
		t.Fatal(code)
	}
	if code := b.join("Add", a.id(hns.KindNamespace, namespaceDoc), ep); code != hns.CodeEndpointInNamespace {
		t.Errorf("second namespace: %s", code)
	}
	if diff := cmp.Diff(a.state(), b.state()); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("mode %s, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := hns.ParseSnapshot(text)
	if err != nil || len(s.Networks) != 1 || len(s.Endpoints) != 1 || len(s.Namespaces) != 2 {
		t.Errorf("the file is no snapshot: %v\n%s", err, text)
	}
}

func TestFileKeepsWhatSnapshotsDoNotShow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	a := openNode(t, path, &emulator.Options{Seed: 3, AddressAfterReads: 3, V1LowerCaseIDs: true})
	doc, _ := a.call("POST", "/networks/", `{"Name":"ext","Type":"l2bridge","Subnets":[{"AddressPrefix":"10.50.3.0/24","GatewayAddress":"10.50.3.1"}]}`)
	ep := a.id(hns.KindEndpoint, endpoint(a.parse(text(t, doc, "ID")), "lake_ep"))
	a.call("POST", "/endpoints/"+ep.String()+"/attach", `{"SystemType":"Host","CompartmentId":1}`)
	b := openNode(t, path, nil)
	for i, want := range []string{"", "", "192.0.2.10"} {
		doc, _ := b.call("GET", "/networks/"+text(t, doc, "ID"), "")
		if got := text(t, doc, "ManagementIP"); got != want {
			t.Errorf("read %d: management IP %q, want %q", i, got, want)
		}
		if got := text(t, doc, "Type"); got != "l2bridge" {
			t.Errorf("type is spelled %s", got)
		}
		if id := text(t, doc, "ID"); id != strings.ToLower(id) {
			t.Errorf("the switch was lost: %s", id)
		}
	}
	if _, ok := b.adapters()["vEthernet (lake_ep)"]; !ok {
		t.Error("the host attachment was lost")
	}
	if diff := cmp.Diff(a.adapters(), b.adapters(), cmp.Comparer(samePrefix)); diff != "" {
		t.Error(diff)
	}
}

func TestFileKeepsAllKinds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	a := openNode(t, path, &emulator.Options{Seed: 3, Version: emulator.WindowsServer2025})
	eps := a.backends(a.lake(), 2)
	web := balancer(eps, vips("10.96.0.20"), port(6, 8080, 80))
	lb := a.id(hns.KindLoadBalancer, web)
	r := a.id(hns.KindRoute, route(eps, "Setting", someRoute))
	list, _ := a.call("POST", "/policylists/", policyList([]string{eps[0].Upper()}, `{"Type":"ELB","Protocol":17,"InternalPort":53,"ExternalPort":53}`))
	macs, _ := a.call("POST", "/accelnet/", `{"MacAddressList":[{"MacAddress":"00-15-5D-0A-B7-C6"}]}`)
	a.call("POST", "/endpoints/", `{"VirtualNetworkName":"lake"}`)
	if err := a.Ghost("moor"); err != nil {
		t.Fatal(err)
	}
	b := openNode(t, path, nil)
	if diff := cmp.Diff(a.state(), b.state()); diff != "" {
		t.Error(diff)
	}
	b.get(hns.KindLoadBalancer, lb)
	b.get(hns.KindRoute, r)
	if _, code := b.create(hns.KindLoadBalancer, web); code != hns.CodeAlreadyExists {
		t.Errorf("the same load balancer: %s", code)
	}
	if _, code := b.create(hns.KindNetwork, network("moor", "L2Bridge", "10.51.3.0/24")); code != hns.CodeNetworkExists {
		t.Errorf("the ghost: %s", code)
	}
	for path, want := range map[string]string{
		"/policylists/" + text(t, list, "ID"): string(list), // with references as they were given
		"/accelnet/":                          string(macs),
	} {
		if got, _ := b.call("GET", path, ""); string(got) != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	all, _ := a.call("GET", "/networks/", "")
	if got, _ := b.call("GET", "/networks/", ""); string(got) != string(all) {
		t.Errorf("networks in schema 1:\n%s\n%s", got, all)
	}
	checkInvariants(t, b)
}

func TestOpenReplacesOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	a := openNode(t, path, &emulator.Options{Version: emulator.WindowsServer2019})
	if out, _ := openNode(t, path, nil).call("GET", "/globals/version", ""); string(out) != `{"Major":9,"Minor":5}` {
		t.Errorf("version %s", out)
	}
	openNode(t, path, &emulator.Options{Version: emulator.WindowsServer2025})
	if out, _ := a.call("GET", "/globals/version", ""); string(out) != `{"Major":15,"Minor":4}` {
		t.Errorf("version of the first, %s, did not follow", out)
	}
}

func TestOpenTakesADump(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	if err := os.WriteFile(path, []byte("\ufeff"+foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	n := openNode(t, path, nil)
	if got := len(n.list(hns.KindNetwork, "")); got != 4 {
		t.Errorf("%d networks", got)
	}
	if got := len(openNode(t, path, nil).list(hns.KindEndpoint, "")); got != 3 {
		t.Errorf("%d endpoints", got)
	}
}

func TestBrokenFile(t *testing.T) {
	for _, content := range []string{"   ", "{", "[]", `{"Networks":[7]}`, `{"Networks":[{}]}`, `{"Emulator":7}`} {
		path := filepath.Join(t.TempDir(), "hns.json")
		n := openNode(t, path, nil)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := emulator.Open(path, nil); !errors.Is(err, emulator.ErrStateFile) || errors.Is(err, hns.ErrInvalid) || !strings.Contains(err.Error(), path) {
			t.Errorf("open of %q: error %v, want one that names the file", content, err)
		}
		if _, err := hns.New(n, nil).Networks.List(t.Context()); !errors.Is(err, emulator.ErrStateFile) || errors.Is(err, hns.ErrInvalid) || hns.Explain(err) != "" {
			t.Errorf("client with %q: %v (%s)", content, err, hns.Explain(err))
		}
		_, err := n.Do(hns.Request{Verb: hns.VerbList, Kind: hns.KindNetwork})
		var be *hns.BackendError
		if !errors.As(err, &be) || be.Code != 0 || be.Err == nil {
			t.Errorf("call with %q: %v, want a BackendError with a cause and no code", content, err)
		}
		if got, _ := os.ReadFile(path); string(got) != content {
			t.Errorf("the broken file %q was overwritten", content)
		}
	}
}

func TestRefusedCallDoesNotTouchTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	n := openNode(t, path, nil)
	n.lake()
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	n.create(hns.KindNetwork, network("lake", "L2Bridge", "10.9.0.0/24"))
	n.list(hns.KindNetwork, "")
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Errorf("the file was written again: %v", err)
	}
}

// A write that fails leaves the operation undone.
func TestUnwritableFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	path := filepath.Join(dir, "hns.json")
	n := openNode(t, path, &emulator.Options{Version: emulator.WindowsServer2025})
	lake := n.lake()
	eps := n.backends(lake, 2)
	ns := n.id(hns.KindNamespace, namespaceDoc)
	n.join("Add", ns, eps[0])
	n.id(hns.KindLoadBalancer, balancer(eps, port(6, 80, 80)))
	n.id(hns.KindRoute, route(eps, "Routes", someRoute))
	before := n.state()
	// A directory in the way of the temporary file's rename cannot be made
	// portably; a state file that became a directory can.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = n.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindNetwork, Document: []byte(network("x", "L2Bridge", "10.9.0.0/24"))})
	var be *hns.BackendError
	if !errors.As(err, &be) || be.Err == nil {
		t.Errorf("error %v", err)
	}
	for _, r := range []hns.Request{
		{Verb: hns.VerbCreate, Kind: hns.KindLoadBalancer, Document: []byte(balancer(eps, port(6, 80, 81)))},
		{Verb: hns.VerbDelete, Kind: hns.KindNamespace, ID: ns},
		{Verb: hns.VerbDelete, Kind: hns.KindNetwork, ID: lake},
		{Verb: hns.VerbCall, Method: "POST", Path: "/accelnet/", Document: []byte(`{"MacAddressList":[{"MacAddress":"00-15-5D-0A-B7-C6"}]}`)},
	} {
		if _, err := n.Do(r); err == nil {
			t.Errorf("%s %s was told to have happened", r.Verb, r.Kind)
		}
	}
	if err := n.Ghost("lake"); err == nil {
		t.Error("the ghost was told to be there")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := n.state(); got != before {
		t.Errorf("state is now\n%s", got)
	}
	if out, _ := n.call("GET", "/accelnet/", ""); string(out) != `{"MacAddressList":[]}` {
		t.Errorf("addresses: %s", out)
	}
	n.id(hns.KindLoadBalancer, balancer(eps, port(6, 80, 81)))
	if _, code := n.create(hns.KindLoadBalancer, balancer(eps[:1], port(6, 80, 80))); code != hns.CodePortExists {
		t.Errorf("port: %s", code)
	}
}

func TestManyHandles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	lake := openNode(t, path, nil).lake()
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]bool{}
	for range 4 {
		n := openNode(t, path, nil)
		for range 2 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for range 5 {
					resp, err := n.Do(hns.Request{Verb: hns.VerbCreate, Kind: hns.KindEndpoint, Document: []byte(endpoint(lake, "x"))})
					if err != nil {
						t.Error(err)
						return
					}
					a := text(t, resp.Documents[0], "IpConfigurations", 0, "IpAddress")
					mu.Lock()
					if seen[a] {
						t.Errorf("%s was given twice", a)
					}
					seen[a] = true
					mu.Unlock()
				}
			}()
		}
	}
	wg.Wait()
	if got := len(openNode(t, path, nil).list(hns.KindEndpoint, "")); got != 40 {
		t.Errorf("%d endpoints, want 40", got)
	}
}

// A process that is stuck while it holds the lock does not hold up others for
// ever.
func TestStuckProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	impatient := &emulator.Options{LockTimeout: time.Millisecond}
	n := openNode(t, path, impatient)
	lake := n.lake()
	before := n.state()
	stuck, err := filelock.Acquire(t.Context(), path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Do(hns.Request{Verb: hns.VerbDelete, Kind: hns.KindNetwork, ID: lake})
	var be *hns.BackendError
	if !errors.As(err, &be) || be.Code != 0 || !errors.Is(err, emulator.ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("call: %v, want a BackendError with a cause that names the file", err)
	}
	if _, err := hns.New(n, nil).Networks.List(t.Context()); !errors.Is(err, emulator.ErrLocked) || !errors.Is(err, hns.ErrUnavailable) || errors.Is(err, hns.ErrNotFound) {
		t.Errorf("client: %v", err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is no deadline of the caller", err)
	}
	if _, err := emulator.Open(path, impatient); !errors.Is(err, emulator.ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("open: %v, want one that names the file", err)
	}
	if _, err := n.Snapshot(); !errors.Is(err, emulator.ErrLocked) {
		t.Errorf("snapshot: %v", err)
	}
	if err := stuck.Release(); err != nil {
		t.Fatal(err)
	}
	if n.state() != before {
		t.Error("a call that was given up had an effect")
	}
}

// mktemp makes an empty file, and a file may be removed under an HNS: both are one
// without networks.
func TestEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hns.json")
	for _, empty := range []func() error{
		func() error { return os.WriteFile(path, nil, 0o600) },
		func() error { return os.Truncate(path, 0) },
		func() error { return os.Remove(path) },
	} {
		if err := empty(); err != nil {
			t.Fatal(err)
		}
		n := openNode(t, path, nil)
		if got := len(n.list(hns.KindNetwork, "")); got != 0 {
			t.Errorf("%d networks", got)
		}
		n.lake()
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		if got := len(n.list(hns.KindNetwork, "")); got != 0 {
			t.Errorf("%d networks after it was emptied", got)
		}
		n.lake()
	}
}

// A link is followed, also to where nothing is yet: its file is the node's under
// both names, with one lock.
func TestLinkToAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	real, link, chain := filepath.Join(dir, "d", "real.json"), filepath.Join(dir, "link.json"), filepath.Join(dir, "chain.json")
	for name, to := range map[string]string{link: filepath.Join("d", "real.json"), chain: link, filepath.Join(dir, "loop"): "loop"} {
		if err := os.Symlink(to, name); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	n := openNode(t, chain, nil)
	n.lake()
	for _, name := range []string{real, link, chain} {
		if got := len(openNode(t, name, nil).list(hns.KindNetwork, "")); got != 1 {
			t.Errorf("%s: %d networks", name, got)
		}
	}
	for _, name := range []string{link, chain} {
		if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", name)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.lock")); len(left) > 0 {
		t.Errorf("locks of their own: %s", left)
	}
	if _, err := emulator.Open(filepath.Join(dir, "loop"), nil); err == nil || !strings.Contains(err.Error(), "loop") {
		t.Errorf("a link to itself: %v", err)
	}
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{"": "emulator: the state file has no name", dir: "emulator: " + dir + ": not a state file: it is a directory"} {
		if _, err := emulator.Open(path, nil); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
	if _, err := os.Lstat(dir + ".lock"); err == nil {
		t.Error("a lock was left beside the directory")
	}
	if _, err := emulator.Open("a\x00b", nil); err == nil {
		t.Error("a name with a zero was taken")
	}
}

// What a process that was killed left goes with the next change, also by one that
// lives on.
func TestTemporaryFilesGo(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, filepath.Join(dir, "hns.json"), nil)
	stale := filepath.Join(dir, ".hns.json.123456.1.tmp")
	other := filepath.Join(dir, ".other.json.123456.1.tmp")
	for _, name := range []string{stale, other} {
		if err := os.WriteFile(name, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.lake()
	if _, err := os.Lstat(stale); err == nil {
		t.Error("it is still there")
	}
	if _, err := os.Lstat(other); err != nil {
		t.Error("a file of somebody else was removed")
	}
}
