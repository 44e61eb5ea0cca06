package stories_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes"
)

type nodeKey struct{}

// node is the node of one story.
type node struct {
	work       string
	namespaces map[string]string // of pods, by name
	bystanders []string          // ids of endpoints that are no pod's, in small letters
	held       []func()          // gives a lock back
}

func nodeOf(ts *testscript.TestScript) *node { return ts.Value(nodeKey{}).(*node) }

// open returns the node's HNS. It is opened anew each time: the plugins have
// changed the file meanwhile.
func (n *node) open() (*emulator.HNS, *hns.Client, error) {
	path := filepath.Join(n.work, "hns.json")
	var opts *emulator.Options
	if _, err := os.Stat(path); err != nil {
		opts = &emulator.Options{Seed: 1}
	}
	h, err := emulator.Open(path, opts)
	return h, hns.New(h, nil), err
}

// cmdNode makes a network: node MODE NAME PREFIX...
func cmdNode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: node l2bridge|l2tunnel|overlay|transparent|nat NAME PREFIX...")
	}
	mode, err := modes.ParseMode(args[0])
	ts.Check(err)
	in := modes.NetworkIntent{Mode: mode, Name: args[1]}
	if mode != modes.NAT { // which is on none
		in.Adapter = "Ethernet"
	}
	for _, a := range args[2:] {
		p, err := netip.ParsePrefix(a)
		ts.Check(err)
		in.Subnets = append(in.Subnets, p)
	}
	n := nodeOf(ts)
	_, c, err := n.open()
	ts.Check(err)
	ts.Check(n.makeNetwork(context.Background(), c, in))
}

func (n *node) makeNetwork(ctx context.Context, c *hns.Client, in modes.NetworkIntent) error {
	plan, err := modes.PlanNetwork(in)
	if err != nil {
		return err
	}
	made, err := c.Networks.Create(ctx, plan.Network)
	if err != nil {
		return err
	}
	if len(plan.AddPolicies) > 0 {
		if err := c.Networks.AddPolicies(ctx, made.ID, plan.AddPolicies...); err != nil {
			return err
		}
	}
	if in.Mode != modes.L2Bridge {
		return nil
	}
	host, err := modes.PlanHostEndpoint(made)
	if err != nil {
		return err
	}
	if host, err = c.Endpoints.Create(ctx, host); err != nil {
		return err
	}
	n.bystanders = append(n.bystanders, host.ID.String())
	return c.Endpoints.AttachHost(ctx, host.ID)
}

// namespace returns the id of the pod's namespace, made at the first call, as a
// runtime makes it before it calls any plugin.
func (n *node) namespace(ts *testscript.TestScript, pod string) string {
	if id, ok := n.namespaces[pod]; ok {
		return id
	}
	_, c, err := n.open()
	ts.Check(err)
	ns, err := c.Namespaces.Create(context.Background(), &hns.Namespace{Type: hns.NamespaceGuest})
	ts.Check(err)
	n.namespaces[pod] = ns.ID.String()
	return n.namespaces[pod]
}

// cmdHNS does something to HNS behind the plugins' back, or shows what is there.
func cmdHNS(ts *testscript.TestScript, neg bool, args []string) {
	const usage = "usage: hns show|detach NAME | hns network NAME | hns delete network|endpoint|namespace NAME | hns put FILE | hns set NAME MEMBER JSON | hns reboot|restart"
	if neg || len(args) == 0 {
		ts.Fatalf(usage)
	}
	n := nodeOf(ts)
	h, c, err := n.open()
	ts.Check(err)
	switch {
	case args[0] == "show" && len(args) == 2:
		ts.Check(n.show(ts, c, args[1]))
	case args[0] == "network" && len(args) == 2:
		ts.Check(showNetwork(ts, c, args[1]))
	case args[0] == "detach" && len(args) == 2:
		ts.Check(n.detach(c, args[1]))
	case args[0] == "set" && len(args) == 4:
		ts.Check(n.set(args[1], args[2], args[3]))
	case args[0] == "delete" && len(args) == 3:
		ts.Check(n.remove(c, args[1], args[2]))
	case args[0] == "put" && len(args) == 2:
		ts.Check(n.put(c, ts.ReadFile(args[1])))
	case args[0] == "reboot" && len(args) == 1:
		ts.Check(h.Reboot())
		clear(n.namespaces)
	case args[0] == "restart" && len(args) == 1:
		ts.Check(h.Restart())
	default:
		ts.Fatalf(usage)
	}
}

func (n *node) remove(c *hns.Client, kind, name string) error {
	ctx := context.Background()
	switch kind {
	case "network":
		net, err := c.Networks.ByName(ctx, name)
		if err != nil {
			return err
		}
		return c.Networks.Delete(ctx, net.ID)
	case "endpoint":
		e, err := c.Endpoints.ByName(ctx, name)
		if err != nil {
			return err
		}
		return c.Endpoints.Delete(ctx, e.ID)
	case "namespace":
		id, err := hns.ParseID(n.namespaces[name])
		if err != nil {
			return err
		}
		return c.Namespaces.Delete(ctx, id)
	}
	return fmt.Errorf("cannot delete a %s", kind)
}

// show prints an endpoint, one thing a line, in the words of its document.
func (n *node) show(ts *testscript.TestScript, c *hns.Client, name string) error {
	e, err := c.Endpoints.ByName(context.Background(), name)
	if err != nil {
		return err
	}
	var doc struct {
		MacAddress           string
		HostComputeNamespace string
		IpConfigurations     []struct {
			IpAddress    string
			PrefixLength int
		}
		Routes   []struct{ NextHop, DestinationPrefix string }
		DNS      json.RawMessage `json:"Dns"`
		Policies []struct {
			Type     string
			Settings json.RawMessage
		}
	}
	if err := json.Unmarshal(e.Document.Raw, &doc); err != nil {
		return err
	}
	w := ts.Stdout()
	state, err := c.Endpoints.State(context.Background(), e.ID)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "state %s\n", state)
	for _, a := range doc.IpConfigurations {
		fmt.Fprintf(w, "address %s/%d\n", a.IpAddress, a.PrefixLength)
	}
	for _, r := range doc.Routes {
		fmt.Fprintf(w, "route %s via %s\n", r.DestinationPrefix, r.NextHop)
	}
	fmt.Fprintf(w, "mac %s\ndns %s\n", doc.MacAddress, doc.DNS)
	for _, p := range doc.Policies {
		fmt.Fprintf(w, "policy %s %s\n", p.Type, p.Settings)
	}
	for pod, id := range n.namespaces {
		if strings.EqualFold(id, doc.HostComputeNamespace) {
			fmt.Fprintf(w, "in the namespace of %s\n", pod)
		}
	}
	return nil
}

// showNetwork prints a network, one thing a line.
func showNetwork(ts *testscript.TestScript, c *hns.Client, name string) error {
	net, err := c.Networks.ByName(context.Background(), name)
	if err != nil {
		return err
	}
	w := ts.Stdout()
	fmt.Fprintf(w, "type %s\n", net.Type)
	for _, s := range net.Subnets() {
		fmt.Fprintf(w, "subnet %s gateway %s\n", s.Prefix, s.Gateway())
	}
	for _, p := range net.Policies {
		fmt.Fprintf(w, "policy %s\n", p.PolicyType())
	}
	return nil
}

// put adds an endpoint's document to HNS's state as it is, whatever HNS would
// say to it: as an older version, another program or a bug of HNS made it.
// NETWORK(name) stands for the id of a network.
func (n *node) put(c *hns.Client, text string) error {
	nets, err := c.Networks.List(context.Background())
	if err != nil {
		return err
	}
	for _, net := range nets {
		text = strings.ReplaceAll(text, "NETWORK("+net.Name+")", net.ID.String())
	}
	var head struct{ ID hns.ID }
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		return err
	}
	if head.ID.IsZero() {
		return errors.New("the document has no ID")
	}
	return n.edit(func(endpoints []json.RawMessage) ([]json.RawMessage, error) {
		return append(endpoints, json.RawMessage(text)), nil
	})
}

// set gives a member of an endpoint's document another value, as it is.
func (n *node) set(name, member, value string) error {
	return n.edit(func(endpoints []json.RawMessage) ([]json.RawMessage, error) {
		for i, doc := range endpoints {
			var members map[string]json.RawMessage
			if err := json.Unmarshal(doc, &members); err != nil {
				return nil, err
			}
			if string(members["Name"]) != strconv.Quote(name) {
				continue
			}
			members[member] = json.RawMessage(value)
			changed, err := json.Marshal(members)
			endpoints[i] = changed
			return endpoints, err
		}
		return nil, fmt.Errorf("no endpoint %s", name)
	})
}

// edit changes the endpoints in the state file.
func (n *node) edit(change func([]json.RawMessage) ([]json.RawMessage, error)) error {
	path := filepath.Join(n.work, "hns.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var state map[string]json.RawMessage
	if err := json.Unmarshal(data, &state); err != nil {
		return err
	}
	var endpoints []json.RawMessage
	if err := json.Unmarshal(state["Endpoints"], &endpoints); err != nil {
		return err
	}
	if endpoints, err = change(endpoints); err != nil {
		return err
	}
	if state["Endpoints"], err = json.Marshal(endpoints); err != nil {
		return err
	}
	if data, err = json.Marshal(state); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// detach takes an endpoint out of its namespace.
func (n *node) detach(c *hns.Client, name string) error {
	ctx := context.Background()
	e, err := c.Endpoints.ByName(ctx, name)
	if err != nil {
		return err
	}
	return c.Namespaces.RemoveEndpoint(ctx, e.Namespace, e.ID)
}
