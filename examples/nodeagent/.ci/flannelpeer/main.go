// Program flannelpeer is a Linux node of a flannel cluster without the Linux:
// flannel's own code takes the node's lease, so writes the annotations of its
// Node object, and watches the leases of the other nodes. What it makes of
// them is printed, a line of JSON for each event. No interface and no route of
// the machine is touched.
//
//	NODE_NAME=lin-1 flannelpeer -kubeconfig FILE -net-conf FILE -public-ip 192.0.2.21 -vtep-mac 4e:0a:00:00:03:00
//
// The first line has the event "acquired" and this node's own lease, the others
// "added" or "removed" and the lease of another node. flannel says "added" of a
// lease that has changed, too. It ends with status 0 when its standard input
// does, and so when whoever started it is gone.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"

	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/lease"
	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/flannel-io/flannel/pkg/subnet/kube"
)

// Event is a line of the output.
type Event struct {
	Event       string `json:"event"`
	Subnet      string `json:"subnet"`
	PublicIP    string `json:"publicIP"`
	BackendType string `json:"backendType"`
	// VNI and VtepMAC are those of backend type vxlan, read as its backend reads
	// them. Error says why that failed; flanneld logs it then and has no way to
	// the node.
	VNI     uint32 `json:"vni,omitempty"`
	VtepMAC string `json:"vtepMAC,omitempty"`
	Error   string `json:"error,omitempty"`
}

// vxlanAttrs is what flannel's backend vxlan puts into the lease. Its own type
// is not exported.
type vxlanAttrs struct {
	VNI     uint32
	VtepMAC string
}

type options struct {
	kubeconfig, netConf, prefix, backend string
	publicIP                             netip.Addr
	vtepMAC                              net.HardwareAddr
	vni                                  uint
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err == nil {
		err = run(ctx, o, json.NewEncoder(os.Stdout))
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "flannelpeer:", err)
		os.Exit(1)
	}
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("flannelpeer", flag.ContinueOnError)
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file`")
	f.StringVar(&o.netConf, "net-conf", "", "flannel's net-conf.json")
	f.StringVar(&o.prefix, "prefix", "flannel.alpha.coreos.com", "`prefix` of the annotations")
	f.StringVar(&o.backend, "backend", "vxlan", "backend `type`: vxlan or host-gw")
	f.UintVar(&o.vni, "vni", 4096, "VNI of backend vxlan")
	f.TextVar(&o.publicIP, "public-ip", netip.Addr{}, "`address` of the node")
	f.Func("vtep-mac", "`MAC` address of the node's VXLAN interface", func(s string) (err error) {
		o.vtepMAC, err = net.ParseMAC(s)
		return err
	})
	return o, f.Parse(args)
}

func run(ctx context.Context, o options, out *json.Encoder) error {
	sm, err := kube.NewSubnetManager(ctx, "", o.kubeconfig, o.prefix, o.netConf, true)
	if err != nil {
		return err
	}
	attrs := &lease.LeaseAttrs{PublicIP: ip.FromIP(net.IP(o.publicIP.AsSlice())), BackendType: o.backend}
	if o.backend == "vxlan" {
		if attrs.BackendData, err = json.Marshal(vxlanAttrs{uint32(o.vni), o.vtepMAC.String()}); err != nil {
			return err
		}
	}
	own, err := sm.AcquireLease(ctx, attrs)
	if err != nil {
		return err
	}
	own.EnableIPv4 = true // as in the events that it is compared with
	if err := sm.CompleteLease(ctx, own, nil); err != nil {
		return err
	}
	if err := out.Encode(event("acquired", *own)); err != nil {
		return err
	}
	batches := make(chan []lease.Event)
	go subnet.WatchLeases(ctx, sm, own, batches)
	for batch := range batches {
		for _, e := range batch {
			name := "added"
			if e.Type == lease.EventRemoved {
				name = "removed"
			}
			if err := out.Encode(event(name, e.Lease)); err != nil {
				return err
			}
		}
	}
	return nil
}

func event(name string, l lease.Lease) Event {
	e := Event{Event: name, Subnet: l.Subnet.String(), PublicIP: l.Attrs.PublicIP.String(), BackendType: l.Attrs.BackendType}
	if e.BackendType != "vxlan" {
		return e
	}
	var attrs vxlanAttrs
	err := json.Unmarshal(l.Attrs.BackendData, &attrs)
	if err == nil {
		_, err = net.ParseMAC(attrs.VtepMAC)
	}
	if err != nil {
		e.Error = err.Error()
	}
	e.VNI, e.VtepMAC = attrs.VNI, attrs.VtepMAC
	return e
}
