module github.com/hnskit/hnskit

go 1.24.0

require (
	github.com/containernetworking/cni v1.3.0
	github.com/gofrs/flock v0.13.0
	github.com/google/go-cmp v0.7.0
	github.com/rogpeppe/go-internal v1.14.1
	golang.org/x/sys v0.41.0
)

require (
	github.com/vishvananda/netns v0.0.4 // indirect
	golang.org/x/tools v0.26.0 // indirect
)
