module github.com/hnskit/hnskit/hns/emulator/wine

go 1.24.0

require (
	github.com/containernetworking/cni v1.3.0
	github.com/gofrs/flock v0.13.0
	github.com/google/go-cmp v0.7.0
	github.com/hnskit/hnskit v0.0.0
)

require (
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/sys v0.41.0 // indirect
)

replace github.com/hnskit/hnskit => ../../..
