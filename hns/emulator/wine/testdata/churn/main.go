// Command churn keeps the HNS of the machine busy until it is killed or its
// input ends. "churn add" creates endpoints on the network cbr0 and deletes
// the oldest when there are more than eight; "churn list" lists them.
//
// It works after the line "go" and pauses after the line "halt", which it
// answers with "halted". What it has done it says: "+ID", "-ID", or how many
// endpoints it saw.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/hnskit/hnskit/hns"
)

const keep = 8

func main() {
	if err := churn(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func churn(ctx context.Context) error {
	c, err := hns.Open(nil)
	if err != nil {
		return err
	}
	n, err := c.Networks.ByName(ctx, "cbr0")
	if err != nil {
		return err
	}
	eps, err := c.Endpoints.List(ctx)
	if err != nil {
		return err
	}
	a := &adder{c: c, network: n.ID}
	for _, e := range eps { // what one that was killed has left
		a.made = append(a.made, e.ID)
	}
	step := a.step
	if len(os.Args) == 2 && os.Args[1] == "list" {
		step = (&lister{c: c, subnet: n.Subnets()[0].Prefix}).step
	}
	fmt.Println("ready")

	commands := make(chan string)
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			commands <- in.Text()
		}
		close(commands)
	}()
	for busy, ok := false, true; ; {
		var command string
		if busy {
			select {
			case command, ok = <-commands:
			default:
				if err := step(ctx); err != nil {
					return err
				}
				continue
			}
		} else {
			command, ok = <-commands
		}
		if !ok {
			return nil
		}
		if busy = command == "go"; !busy {
			fmt.Println("halted")
		}
	}
}

type adder struct {
	c       *hns.Client
	network hns.ID
	made    []hns.ID
}

func (a *adder) step(ctx context.Context) error {
	if len(a.made) > keep {
		oldest := a.made[0]
		if err := a.c.Endpoints.Delete(ctx, oldest); err != nil {
			return err
		}
		a.made = a.made[1:]
		fmt.Println("-" + oldest.String())
		return nil
	}
	e, err := a.c.Endpoints.Create(ctx, &hns.Endpoint{Name: "churn", Network: a.network})
	if err != nil {
		return err
	}
	a.made = append(a.made, e.ID)
	fmt.Println("+" + e.ID.String())
	return nil
}

type lister struct {
	c      *hns.Client
	subnet netip.Prefix
}

// step lists the endpoints. Each is read by itself, so the list may hold one
// that is deleted by now, but never two with one address.
func (l *lister) step(ctx context.Context) error {
	eps, err := l.c.Endpoints.List(ctx)
	if err != nil {
		return err
	}
	seen := map[netip.Addr]hns.ID{}
	for _, e := range eps {
		as := e.Addresses()
		if len(as) != 1 || !l.subnet.Contains(as[0]) {
			return fmt.Errorf("endpoint %s has the addresses %v", e.ID, as)
		}
		if other, ok := seen[as[0]]; ok && other != e.ID {
			return errors.New("two endpoints have the address " + as[0].String())
		}
		seen[as[0]] = e.ID
	}
	fmt.Println(len(eps))
	return nil
}
