package delegate_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/hnskit/hnskit/subnetenv"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

// What ADD hands to the delegate.
func ExampleBuild() {
	cfg, err := delegate.Parse([]byte(`{
		"cniVersion": "1.0.0",
		"name": "fjord",
		"type": "flannel",
		"delegate": {"type": "win-overlay", "endpointMacPrefix": "0E-2A"}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	env, err := subnetenv.Parse([]byte("FLANNEL_NETWORK=10.60.0.0/16\nFLANNEL_SUBNET=10.60.2.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=false\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	conf, err := delegate.Build(cfg, env, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", conf)
	// Output:
	// {"cniVersion":"1.0.0","endpointMacPrefix":"0E-2A","ipMasq":false,"ipam":{"subnet":"10.60.2.0/24","type":"host-local"},"mtu":1450,"name":"fjord","type":"win-overlay"}
}

func ExampleParse_errors() {
	for _, conf := range []string{
		"{\n\u00a0\u00a0\"name\": \"lake\" }",
		`{"name": "lake", "delegate": {}, "ipam": "host-local", "dataDir": 7}`,
	} {
		_, err := delegate.Parse([]byte(conf))
		var syntax *delegate.SyntaxError
		if errors.As(err, &syntax) {
			fmt.Println("line", syntax.Line, "column", syntax.Column, "-", syntax.Hint)
			continue
		}
		fmt.Println(err)
	}
	// Output:
	// line 2 column 1 - U+00A0, a no-break space, where JSON wants a blank: was this copied from a web page?
	// configuration of network lake: dataDir: 7 is not a string; ipam: "host-local" is not an object
}

// DEL uses what ADD saved. If that is lost or broken, it goes on with what the
// configuration says, so that no endpoint and no address stays behind.
func ExampleScratch() {
	dir, err := os.MkdirTemp("", "flannel")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	s := delegate.Scratch{Dir: dir}
	pod := delegate.Attachment{Network: "lake", ContainerID: "sbx-01", IfName: "eth0"}
	if err := s.Save(pod, []byte(`{"name":"lake","type":"win-bridge","ipam":{"type":"host-local","subnet":"10.50.3.0/24"}}`)); err != nil {
		fmt.Println(err)
		return
	}

	cfg, err := delegate.Parse([]byte(`{"name":"lake","type":"flannel","delegate":{"type":"win-bridge"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		conf, err := s.Load(pod)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, delegate.ErrBrokenScratch) {
			conf, err = delegate.Rebuild(cfg, nil)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", conf) // the delegate's DEL comes here
		if err := s.Remove(pod); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// {"name":"lake","type":"win-bridge","ipam":{"type":"host-local","subnet":"10.50.3.0/24"}}
	// {"cniVersion":"0.2.0","ipam":{"subnet":"192.0.2.0/24","type":"host-local"},"name":"lake","type":"win-bridge"}
}
