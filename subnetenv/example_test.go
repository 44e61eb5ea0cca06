package subnetenv_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/hnskit/hnskit/subnetenv"
)

func ExampleParse() {
	env, err := subnetenv.Parse([]byte(`
FLANNEL_NETWORK=10.50.0.0/16
FLANNEL_SUBNET=10.50.3.1/24
FLANNEL_MTU=1450
FLANNEL_IPMASQ=true
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("this node:", env.MaskedSubnet(), "first address:", env.Subnet.Addr())
	fmt.Println("cluster:", env.Networks)
	fmt.Println("IPv4:", env.HasIPv4(), "IPv6:", env.HasIPv6())
	// Output:
	// this node: 10.50.3.0/24 first address: 10.50.3.1
	// cluster: [10.50.0.0/16]
	// IPv4: true IPv6: false
}

// All problems come at once, with their lines.
func ExampleParse_problems() {
	_, err := subnetenv.Parse([]byte(`
FLANNEL_NETWORK=10.50.0.0/16,not-a-cidr
FLANNEL_SUBNET=10.50.3.1/24
FLANNEL_IPMASQ=yes
`))
	var parseErr *subnetenv.ParseError
	if errors.As(err, &parseErr) {
		for _, p := range parseErr.Problems {
			fmt.Println(p)
		}
	}
	fmt.Println("worth another try:", errors.Is(err, subnetenv.ErrNotReady))
	// Output:
	// line 2: FLANNEL_NETWORK "not-a-cidr" is not a prefix such as 10.244.0.0/16
	// line 4: FLANNEL_IPMASQ "yes" is neither true nor false
	// FLANNEL_MTU missing
	// worth another try: false
}

func ExampleFormat() {
	fmt.Printf("%s", subnetenv.Format(&subnetenv.Env{
		Networks: []netip.Prefix{netip.MustParsePrefix("10.50.0.0/16")},
		Subnet:   netip.MustParsePrefix("10.50.3.1/24"),
		MTU:      1450,
		IPMasq:   true,
		Extra:    []subnetenv.Pair{{Key: "WRITTEN_BY", Value: "the node agent # 1"}},
	}))
	// Output:
	// FLANNEL_NETWORK=10.50.0.0/16
	// FLANNEL_SUBNET=10.50.3.1/24
	// FLANNEL_MTU=1450
	// FLANNEL_IPMASQ=true
	// WRITTEN_BY='the node agent # 1'
}

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "flannel")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "subnet.env")

	err = subnetenv.Write(path, &subnetenv.Env{
		IPv6Networks: []netip.Prefix{netip.MustParsePrefix("fd00:50::/48")},
		IPv6Subnet:   netip.MustParsePrefix("fd00:50:0:3::1/64"),
		MTU:          1430,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	env, err := subnetenv.Read(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(env.IPv6Subnet, env.MTU, env.IPMasq)
	// Output: fd00:50:0:3::1/64 1430 false
}

// A plugin that is called before flanneld is ready waits a little, and then asks
// the runtime to try again later.
func ExampleWait() {
	dir, err := os.MkdirTemp("", "flannel")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "subnet.env")
	if err := os.WriteFile(path, []byte("FLANNEL_NETWORK=10.50.0.0/16\nFLANNEL_SUB"), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err = subnetenv.Wait(ctx, path)
	fmt.Println("in time:", !errors.Is(err, context.DeadlineExceeded))
	fmt.Println("try again later:", errors.Is(err, subnetenv.ErrNotReady))
	// Output:
	// in time: false
	// try again later: true
}

// An agent on the node keeps what it made of the file up to date.
func ExampleWatch() {
	dir, err := os.MkdirTemp("", "flannel")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "subnet.env")
	env := &subnetenv.Env{
		Networks: []netip.Prefix{netip.MustParsePrefix("10.50.0.0/16")},
		Subnet:   netip.MustParsePrefix("10.50.3.1/24"),
		MTU:      1450,
	}
	if err := subnetenv.Write(path, env); err != nil {
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for got, err := range subnetenv.Watch(ctx, path, nil) {
		if err != nil {
			fmt.Println("for now:", err) // it goes on once the file is right
			continue
		}
		fmt.Println("this node has", got.MaskedSubnet())
		if got.Subnet != env.Subnet {
			break
		}
		got.Subnet = netip.MustParsePrefix("10.50.8.1/24") // flanneld gets another lease
		if err := subnetenv.Write(path, got); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// this node has 10.50.3.0/24
	// this node has 10.50.8.0/24
}
