module github.com/hnskit/hnskit/.tools

go 1.24.0

tool (
	github.com/containernetworking/plugins/plugins/ipam/host-local
	golang.org/x/sys/windows/mkwinsyscall
)

require (
	github.com/containerd/go-cni v1.1.13
	github.com/containernetworking/cni v1.3.0
)

require (
	github.com/alexflint/go-filemutex v1.3.0 // indirect
	github.com/containernetworking/plugins v1.7.1 // indirect
	github.com/coreos/go-iptables v0.8.0 // indirect
	github.com/petermattis/goid v0.0.0-20240813172612-4fcff4a6cae7 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/safchain/ethtool v0.5.10 // indirect
	github.com/sasha-s/go-deadlock v0.3.5 // indirect
	github.com/vishvananda/netlink v1.3.1-0.20250303224720-0e7078ed04c8 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/sys v0.41.0 // indirect
	sigs.k8s.io/knftables v0.0.18 // indirect
)
