package main

import (
	"os"
	"path/filepath"
	"strings"
)

// environment is a list of NAME=VALUE, as os.Environ gives it.
type environment []string

// get returns the value of a variable; empty: there is none.
func (e environment) get(name string) string {
	for _, v := range e {
		if n, value, _ := strings.Cut(v, "="); n == name {
			return value
		}
	}
	return ""
}

// mountPoint is the variable by which a HostProcess container is told where its
// own files are. containerd up to 1.6 mounts volumes there alone; since 1.7 they
// are seen at their paths, as in any container.
const mountPoint = "CONTAINER_SANDBOX_MOUNT_POINT"

// mounted returns the path of a file that a volume brings.
func (e environment) mounted(path string) string {
	root := e.get(mountPoint)
	if root == "" || exists(path) {
		return path
	}
	if below := filepath.Join(root, strings.TrimPrefix(path, filepath.VolumeName(path))); exists(below) {
		return below
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
