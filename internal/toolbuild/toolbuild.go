package toolbuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Import paths of the tools in the .tools module.
const (
	hostLocalPkg = "github.com/containernetworking/plugins/plugins/ipam/host-local"
	cniClientPkg = "github.com/hnskit/hnskit/.tools/cniclient"
)

// Target is the system a program is built for. The zero value is the system of
// the running process.
type Target struct {
	// GOOS and GOARCH have the values the go command knows. Empty means the
	// running process's.
	GOOS, GOARCH string
}

// HostLocal returns the path of the host-local IPAM plugin for this system,
// built on first use. Its directory can serve as CNI_PATH.
func HostLocal(ctx context.Context) (string, error) { return Target{}.HostLocal(ctx) }

// CNIClient returns the path of the program that drives a plugin as containerd
// does (see .tools/cniclient), built on first use.
func CNIClient(ctx context.Context) (string, error) { return Target{}.CNIClient(ctx) }

// Build returns the path of a tool of the .tools module for this system, built
// on first use. pkg is its import path.
func Build(ctx context.Context, pkg string) (string, error) { return Target{}.Build(ctx, pkg) }

// Local builds a package of this module, such as ./examples/flannel, for this
// system, and returns the path of the program. See [Target.Local].
func Local(ctx context.Context, pkg, dir string) (string, error) {
	return Target{}.Local(ctx, pkg, dir)
}

// HostLocal is like the function of that name, for t.
func (t Target) HostLocal(ctx context.Context) (string, error) { return t.Build(ctx, hostLocalPkg) }

// CNIClient is like the function of that name, for t.
func (t Target) CNIClient(ctx context.Context) (string, error) { return t.Build(ctx, cniClientPkg) }

// Build is like the function of that name, for t.
func (t Target) Build(ctx context.Context, pkg string) (string, error) {
	tool, err := t.build(ctx, pkg)
	if err != nil {
		return "", fmt.Errorf("build tool %s: %w", pkg, err)
	}
	return tool, nil
}

// Local builds pkg, a package of the module github.com/hnskit/hnskit given as a
// path such as ./examples/flannel relative to the module's root, into dir and
// returns the path of the program. It is named after the last element of pkg
// (with .exe for Windows). Nothing is kept beyond the go command's own build
// cache; an existing program of that name is replaced.
func (t Target) Local(ctx context.Context, pkg, dir string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", fmt.Errorf("build %s: %w", pkg, err)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", pkg, err)
	}
	out := filepath.Join(dir, t.program(pkg))
	if err := t.goBuild(ctx, root, out, pkg); err != nil {
		return "", fmt.Errorf("build %s: %w", pkg, err)
	}
	return out, nil
}

func (t Target) build(ctx context.Context, pkg string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	module := filepath.Join(root, ".tools")
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place to keep tools: %w", err)
	}
	key, err := t.key(ctx, module)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "hnskit", "tools", key)
	tool := filepath.Join(dir, t.program(pkg))
	if isFile(tool) {
		return tool, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(dir, "build-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }() // what is left of it does no harm
	built := filepath.Join(work, t.program(pkg))
	if err := t.goBuild(ctx, module, built, pkg); err != nil {
		return "", err
	}
	// Another process may have finished first, and on Windows its program
	// cannot be replaced while it runs. It is the same program: use it.
	if err := os.Rename(built, tool); err != nil && !isFile(tool) {
		return "", err
	}
	return tool, nil
}

// program is the file name of the program built from pkg.
func (t Target) program(pkg string) string {
	name := path.Base(filepath.ToSlash(pkg))
	if t.goos() == "windows" {
		name += ".exe"
	}
	return name
}

func (t Target) goos() string {
	if t.GOOS != "" {
		return t.GOOS
	}
	return runtime.GOOS
}

func (t Target) goarch() string {
	if t.GOARCH != "" {
		return t.GOARCH
	}
	return runtime.GOARCH
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// Root returns the directory of this module, found from the working directory
// upwards: tests run in the directory of their package.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && moduleName(string(data)) == "github.com/hnskit/hnskit" {
			return dir, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("no go.mod of github.com/hnskit/hnskit in %s or above", start)
		}
	}
}

// moduleName reads the module line of a go.mod.
func moduleName(goMod string) string {
	for line := range strings.Lines(goMod) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			return strings.Trim(strings.TrimSpace(name), `"`)
		}
	}
	return ""
}
