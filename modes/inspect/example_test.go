package inspect_test

import (
	"fmt"

	"github.com/hnskit/hnskit/modes/inspect"
)

func ExampleFile() {
	r := inspect.File("10-lake.conf", []byte(`{
  "cniVersion": "1.0.0", "name": "lake", "type": "win-overlay",
  "capabilities": {"portMappings": true, "dns": true},
  "policies": [{"name": "EndpointPolicy", "value": {"Type": "OutBoundNAT", "Settings": {"Exceptions": ["<ClusterCIDR>"]}}}]
}`))
	fmt.Print(r.Text())
	// Output:
	// 10-lake.conf: refuse: cni-conf, mode Overlay, api v2
	//   error at policies[0].value.Settings.Exceptions[0]: "<ClusterCIDR>": not a prefix such as 10.0.0.0/8, nor an address
	//     fix: fill in the template: the mark <ClusterCIDR> stands for a value of the node or the cluster
}

func ExampleAgree() {
	reports := []*inspect.Report{
		inspect.File("net-conf.json", []byte(`{"Network": "10.60.0.0/16", "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789}}`)),
		inspect.File("subnet.env", []byte("FLANNEL_NETWORK=10.50.0.0/16\nFLANNEL_SUBNET=10.50.3.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n")),
	}
	inspect.Agree(reports)
	fmt.Println(reports[1].Verdict)
	fmt.Println(reports[1].Findings[0].Reason)
	// Output:
	// refuse
	// does not agree with net-conf.json: the network there is 10.60.0.0/16: the file is stale, or of another cluster
}
