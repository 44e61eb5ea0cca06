package modes_test

import (
	"fmt"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/modes"
)

func ExampleRecommend() {
	rs, err := modes.Recommend(modes.Cluster{
		Windows: []hns.Version{{Major: 13, Minor: 3}}, // Windows Server 2022
		Linux:   modes.LinuxNodes{Network: modes.FlannelVXLAN},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	best := rs[0]
	fmt.Println(best.Mode, best.Fit)
	for _, a := range best.Do {
		fmt.Printf("%s: %s\n", a.Where, a.Text)
	}
	fmt.Println("for NetworkIntent: VNI", best.VNI, "port", best.VXLANPort)
	// Output:
	// Overlay works if
	// Linux nodes: set VNI 4096 instead of 1: HNS takes none below 4096
	// Linux nodes: set UDP port 4789 instead of 8472
	// network: let UDP port 4789 pass between all nodes
	// for NetworkIntent: VNI 4096 port 4789
}

func ExampleRecommendations_String() {
	rs, err := modes.Recommend(modes.Cluster{Cloud: modes.CloudAWS, SameLink: true, IPv6: true, Linux: modes.LinuxNodes{Network: modes.CalicoBGP}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(rs[:1])
	// Output:
	// L2Bridge  works if  why      no encapsulation; flannel's host-gw on Windows is stable
	//                     why      any network by schema 2 needs Windows Server 2019 with KB4489899 (feature V2Api); the versions of the Windows nodes are not known
	//                     why      goes with Calico BGP on the Linux nodes
	//                     why      the nodes are on one link, so each can be the next hop of its pod subnet
	//                     why      IPv6 beside IPv4 needs Windows 2004 serviced, Windows Server 2022 (feature IPv6DualStack); the versions of the Windows nodes are not known
	//                     network  switch off the source/destination check of every node
}

func ExampleRecommendation_String() {
	rs, err := modes.Recommend(modes.Cluster{SameLink: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(rs[len(rs)-1])
	// Output:
	// NAT  does not work  why  pods of other nodes cannot be reached; not used in Kubernetes
}
