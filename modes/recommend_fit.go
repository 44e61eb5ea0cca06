package modes

import (
	"slices"

	"github.com/hnskit/hnskit/hns"
)

// Where the reasons come from.
const (
	k8sPage      = "Kubernetes, Networking on Windows"
	flannelPage  = "flannel, Documentation/backends.md"
	rancherPage  = "Rancher, Networking Requirements for Host Gateway (L2bridge)"
	calicoPage   = "Calico, Windows documentation"
	vspherePage  = "Microsoft, Troubleshooting Kubernetes; OpenShift, configuring hybrid networking"
	flannelCode  = "flannel, pkg/backend/vxlan on Windows"
	antreaCode   = "Antrea, its agent on Windows"
	azureCNICode = "Azure CNI, network/network_windows.go"
)

func l2bridgeFit(j *judgement) {
	j.r.Mode = L2Bridge
	j.because(k8sPage, "no encapsulation; flannel's host-gw on Windows is stable")
	if j.c.Isolation {
		j.not(k8sPage, "pods are seen on the physical network with their own addresses")
	}
	j.needs(hns.FeatureV2API, "any network by schema 2")
	if j.linux.network == AzureCNI {
		j.because(azureCNICode, "Azure CNI makes such networks on Windows, with addresses of the virtual network that need no routes")
	} else {
		j.replace(flannelPage, "flannel host-gw or Calico BGP")
		j.routes()
	}
	j.dualStack()
	if j.c.IPv6 && j.linux.flannel {
		j.change(WindowsSide, flannelCode, "set the nodes up by another agent than flanneld, which has no IPv6 on Windows")
	}
}

// routes judges how a node finds the pods of another without encapsulation.
func (j *judgement) routes() {
	cloud := j.c.Cloud
	switch {
	case j.c.ForwardingDenied:
		j.not(rancherPage, "the nodes may not forward packets of pods")
		return
	case cloud == CloudAzure || cloud == CloudGoogle:
		if !j.c.Routes {
			j.not(rancherPage, "nodes on %s are on no common link, and nobody may add the pod subnets to the route table", cloud)
			return
		}
		j.change(NetworkSide, rancherPage, "add each node's pod subnet to the %s, next hop the node", j.routers())
	case j.c.SameLink:
		j.because(flannelPage, "the nodes are on one link, so each can be the next hop of its pod subnet")
	case j.c.Routes && j.linux.network == CalicoBGP:
		j.change(NetworkSide, calicoPage, "let the routers learn the pod subnets from the nodes by BGP")
	case j.c.Routes:
		j.change(NetworkSide, k8sPage, "add each node's pod subnet to the %s, next hop the node", j.routers())
	default:
		j.not(k8sPage, "the nodes are on several links, and nobody may add the pod subnets to the %s", j.routers())
		return
	}
	switch cloud {
	case CloudAzure:
		j.change(NetworkSide, rancherPage, "enable IP forwarding on every node's network interface")
	case CloudGoogle:
		j.change(NetworkSide, rancherPage, "create every node with IP forwarding (canIpForward)")
	case CloudAWS:
		j.change(NetworkSide, rancherPage, "switch off the source/destination check of every node")
	}
}

func (j *judgement) routers() string {
	if j.c.Cloud == CloudAWS || j.c.Cloud == CloudAzure || j.c.Cloud == CloudGoogle {
		return "route table of the cloud"
	}
	return "routers between them"
}

// dualStack judges the Windows nodes where HNS has to know IPv6.
func (j *judgement) dualStack() {
	if j.c.IPv6 {
		j.needs(hns.FeatureDualStack, "IPv6 beside IPv4")
	}
}

func l2tunnelFit(j *judgement) {
	j.r.Mode = L2Tunnel
	if j.c.Cloud != CloudAzure {
		j.not(k8sPage, "exists on Azure alone")
		return
	}
	j.because(k8sPage, "pods are members of the Azure virtual network, with its security groups and routes")
	if j.c.Isolation {
		j.not(k8sPage, "pods are seen on the virtual network with their own addresses")
	}
	j.needs(hns.FeatureV2API, "any network by schema 2")
	j.replace(k8sPage, "Azure CNI")
	if j.linux.network == AzureCNI {
		j.because(azureCNICode, "Azure CNI of today makes L2Bridge networks; the addresses come from Azure either way")
	}
	j.setUp(NetworkSide, k8sPage, "assign the pods' addresses to the nodes' network interfaces")
	j.dualStack()
}

func overlayFit(j *judgement) {
	j.r.Mode = Overlay
	j.because(k8sPage, "VXLAN between the nodes, so the physical network needs no routes; beta on Windows")
	if j.c.IPv6 {
		j.not(k8sPage, "carries no IPv6 between Windows pods")
	}
	if j.c.Isolation {
		j.because(k8sPage, "pods are apart from the physical network")
	}
	j.needs(hns.FeatureRemoteSubnet, "reaching other nodes")
	j.chooseVXLAN()
	by := "flannel vxlan"
	if j.r.VXLANPort != DefaultVXLANPort {
		by = "OVN-Kubernetes hybrid overlay or another that takes such a UDP port"
	}
	j.replace(flannelPage, by)
	j.vxlan()
}

// chooseVXLAN chooses VNI and port: those of the Linux side where they can be.
func (j *judgement) chooseVXLAN() {
	r, l := &j.r, j.linux
	r.VNI, r.VXLANPort = DefaultVNI, DefaultVXLANPort
	if l.vni >= hns.MinVNI && l.vni <= 1<<16-1 {
		r.VNI = l.vni
	}
	otherPort := l.port != 0 && l.port != DefaultVXLANPort
	switch {
	case j.c.Cloud == CloudVMware:
		r.VXLANPort = vspherePort
		if otherPort && l.port4789 == "" {
			r.VXLANPort = l.port
		}
		j.because(vspherePage, "VMware vSphere takes UDP port 4789 for itself, so another is needed")
	case otherPort && l.port4789 == "" && j.allHave(hns.FeatureVXLANPort):
		r.VXLANPort = l.port
	}
}

// vxlan says who has to do what for the VNI and the port.
func (j *judgement) vxlan() {
	r, l := &j.r, j.linux
	if r.VXLANPort != DefaultVXLANPort {
		j.needs(hns.FeatureVXLANPort, "another UDP port than 4789")
		if l.port4789 != "" {
			j.change(WindowsSide, flannelCode+"; Calico, felix on Windows", "set the nodes up by another agent than %s, which takes UDP port 4789 alone on Windows", l.port4789)
		}
		j.setUp(WindowsSide, k8sPage, "UDP port %d", r.VXLANPort)
	}
	j.linuxVXLAN()
	if r.VNI != DefaultVNI {
		j.setUp(WindowsSide, flannelCode, "VNI %d", r.VNI)
	}
	j.setUp(NetworkSide, flannelPage, "let UDP port %d pass between all nodes", r.VXLANPort)
}

// vspherePort is what OpenShift's documentation takes in place of 4789.
const vspherePort = 9898

// linuxVXLAN says what the Linux nodes have to set.
func (j *judgement) linuxVXLAN() {
	r, l := &j.r, j.linux
	if l.network == LinuxAny || !slices.Contains(l.native, Overlay) { // it will be set up, or replaced
		j.setUp(LinuxSide, flannelPage, "VNI %d and UDP port %d; the defaults on Linux are 1 and 8472", r.VNI, r.VXLANPort)
		return
	}
	if l.vni != r.VNI {
		why := "HNS takes none below 4096"
		if l.vni > 1<<16-1 {
			why = "flannel and hcsshim cut it to 16 bits in the routes to other nodes"
		}
		j.change(LinuxSide, flannelPage+"; flannel-io/flannel#1215", "set VNI %d instead of %d: %s", r.VNI, l.vni, why)
	}
	if l.port != r.VXLANPort {
		j.change(LinuxSide, flannelPage, "set UDP port %d instead of %d", r.VXLANPort, l.port)
	}
	if j.c.Linux.DirectRouting {
		j.change(LinuxSide, flannelCode, "switch DirectRouting off, which Windows nodes do not have")
	}
}

// allHave reports whether all Windows nodes are known to have a feature.
func (j *judgement) allHave(f hns.Feature) bool {
	for _, v := range j.c.Windows {
		if !f.In(v) {
			return false
		}
	}
	return len(j.c.Windows) > 0
}

func transparentFit(j *judgement) {
	j.r.Mode = Transparent
	j.because(k8sPage, "an SDN controller on all nodes wraps and filters; HNS changes nothing")
	j.because(driverPages, "without a controller pods are plain hosts of the physical network, which would have to lead to the pods of Linux nodes too")
	if j.c.Cloud == CloudAzure {
		j.not(driverPages, "is not supported on virtual machines of Azure")
	}
	if j.c.IPv6 {
		j.not(antreaCode, "Antrea, the controller that uses the mode, carries IPv4 alone on Windows")
	}
	j.needs(hns.FeatureV2API, "any network by schema 2")
	j.replace(antreaCode, "Antrea")
	j.setUp(WindowsSide, antreaCode, "install Open vSwitch, and give the network an adapter of its own")
}

func natFit(j *judgement) {
	j.r.Mode = NAT
	j.not(k8sPage, "pods of other nodes cannot be reached; not used in Kubernetes")
}
