// Command client uses the HNS of the machine it runs on, which under Wine is
// the emulator: through computenetwork.dll and vmcompute.dll, like any Windows
// program. Its argument says what to do; it prints what it did.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/hnskit/hnskit/hns"
)

func main() {
	c, err := hns.Open(nil)
	if err == nil {
		err = do(context.Background(), c, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func do(ctx context.Context, c *hns.Client, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: client version|make|show|pod NAME|service|clear ...")
	}
	for len(args) > 0 {
		var err error
		switch args[0] {
		case "make":
			err = makeNetwork(ctx, c)
		case "show":
			err = show(ctx, c)
		case "pod":
			if len(args) < 2 {
				return errors.New("pod: no name")
			}
			args = args[1:]
			err = pod(ctx, c, args[0])
		case "service":
			err = service(ctx, c)
		case "version":
			err = version(ctx, c)
		case "clear":
			err = clear(ctx, c)
		default:
			err = errors.New("what is that?")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		args = args[1:]
	}
	return nil
}

func version(ctx context.Context, c *hns.Client) error {
	v, err := c.Version(ctx)
	if errors.Is(err, hns.ErrUnsupported) {
		fmt.Println("no HNS")
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Println("HNS", v)
	return nil
}

func makeNetwork(ctx context.Context, c *hns.Client) error {
	n, err := c.Networks.Create(ctx, &hns.Network{
		Name: "cbr0",
		Type: hns.L2Bridge,
		IPAMs: []hns.IPAM{{Subnets: []hns.Subnet{{
			Prefix: netip.MustParsePrefix("10.244.3.0/24"),
			Routes: []hns.Route{hns.DefaultRoute(netip.MustParseAddr("10.244.3.1"))},
		}}}},
	})
	if err != nil {
		return err
	}
	fmt.Println("made", n.Name, n.Type)
	return nil
}

// pod makes an endpoint in a namespace of its own, looks at it, and takes
// both away again.
func pod(ctx context.Context, c *hns.Client, name string) error {
	n, err := c.Networks.ByName(ctx, "cbr0")
	if err != nil {
		return err
	}
	ns, err := c.Namespaces.Create(ctx, &hns.Namespace{})
	if err != nil {
		return err
	}
	ep, err := c.Endpoints.Create(ctx, &hns.Endpoint{Name: name, Network: n.ID})
	if err != nil {
		return err
	}
	if err := c.Namespaces.AddEndpoint(ctx, ns.ID, ep.ID); err != nil {
		return err
	}
	found, err := c.Endpoints.ByName(ctx, name)
	if err != nil {
		return err
	}
	fmt.Printf("%s: on its network %t, in its namespace %t, one address of the subnet %t\n", found.Name, found.Network == n.ID,
		found.Namespace == ns.ID, len(found.Addresses()) == 1 && n.Subnets()[0].Prefix.Contains(found.Addresses()[0]))
	if err := c.Namespaces.RemoveEndpoint(ctx, ns.ID, ep.ID); err != nil {
		return err
	}
	if err := c.Endpoints.Delete(ctx, ep.ID); err != nil {
		return err
	}
	if err := c.Namespaces.Delete(ctx, ns.ID); err != nil {
		return err
	}
	_, err = c.Endpoints.ByID(ctx, ep.ID)
	if !errors.Is(err, hns.ErrNotFound) {
		return fmt.Errorf("endpoint is not gone: %w", err)
	}
	return nil
}

func show(ctx context.Context, c *hns.Client) error {
	v, err := c.Version(ctx) // a v1 call
	if err != nil {
		return err
	}
	networks, err := c.Networks.List(ctx)
	if err != nil {
		return err
	}
	endpoints, err := c.Endpoints.List(ctx)
	if err != nil {
		return err
	}
	namespaces, err := c.Namespaces.List(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("version known %t:", v.Major > 0)
	for _, n := range networks {
		fmt.Printf(" network %s %s,", n.Name, n.Subnets()[0].Prefix)
	}
	fmt.Printf(" %d endpoints, %d namespaces\n", len(endpoints), len(namespaces))
	return nil
}

func clear(ctx context.Context, c *hns.Client) error {
	n, err := c.Networks.ByName(ctx, "cbr0")
	if err != nil {
		return err
	}
	if err := c.Networks.Delete(ctx, n.ID); err != nil {
		return err
	}
	_, err = c.Networks.ByID(ctx, n.ID)
	fmt.Println("deleted", n.Name, "and not found:", errors.Is(err, hns.ErrNotFound))
	return nil
}
