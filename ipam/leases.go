package ipam

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/internal/atomicfile"
)

// defaultDataDir is where host-local keeps leases unless told otherwise. On
// Windows it is on the current drive.
const defaultDataDir = "/var/lib/cni/networks"

// StoredLease is a lease in host-local's directory.
type StoredLease struct {
	Address netip.Addr
	// ContainerID is empty if the plugin is just about to write it, or was killed
	// before it did; after a power cut it may be any text.
	ContainerID string
	// IfName is empty for leases of very old versions of host-local.
	IfName string
}

// Leases returns what the host-local plugin has handed out of the network with
// that name, sorted by address. dataDir is the plugin's dataDir; empty means its
// default. A network that has never been used has no leases, which is no error.
//
// The plugin keeps one file a lease, named after the address; files of other
// names are its bookkeeping and are passed over. Leases does not take the
// plugin's lock, so leases that come and go meanwhile may or may not be seen.
func Leases(dataDir, network string) ([]StoredLease, error) {
	dir, err := leaseDir(dataDir, network)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("leases: %w", err)
	}
	var out []StoredLease
	for _, entry := range entries {
		addr, ok := leaseAddress(entry)
		if !ok {
			continue
		}
		l, err := readLease(dir, entry.Name(), addr)
		if errors.Is(err, fs.ErrNotExist) {
			continue // released since
		}
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b StoredLease) int { return a.Address.Compare(b.Address) })
	return out, nil
}

// leaseAddress returns the address that a file is the lease of. Windows does not
// allow colons in names: host-local writes IPv6 addresses with underscores there.
func leaseAddress(entry fs.DirEntry) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.ReplaceAll(entry.Name(), "_", ":"))
	return addr, err == nil && !entry.IsDir()
}

func leaseDir(dataDir, network string) (string, error) {
	if dataDir == "" {
		dataDir = defaultDataDir
	}
	if network == "." || strings.ContainsAny(network, `/\`) || !filepath.IsLocal(network) {
		return "", fmt.Errorf("leases: %q is not the name of a network", network)
	}
	return filepath.Join(dataDir, network), nil
}

func readLease(dir, name string, addr netip.Addr) (StoredLease, error) {
	data, err := atomicfile.Read(filepath.Join(dir, name))
	if err != nil {
		return StoredLease{}, fmt.Errorf("leases: %w", err)
	}
	id, ifName, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	return StoredLease{addr, strings.TrimSpace(id), strings.TrimSpace(ifName)}, nil
}

// LeaseOf returns the lease of one address in the network with that name, and
// whether there is one. It reads one file, however many leases there are.
func LeaseOf(dataDir, network string, addr netip.Addr) (StoredLease, bool, error) {
	dir, err := leaseDir(dataDir, network)
	if err != nil {
		return StoredLease{}, false, err
	}
	l, err := readLease(dir, leaseFile(addr), addr)
	if errors.Is(err, fs.ErrNotExist) {
		return StoredLease{}, false, nil
	}
	return l, err == nil, err
}

// leaseFile is the name of the file of an address.
func leaseFile(addr netip.Addr) string {
	if runtime.GOOS == "windows" {
		return strings.ReplaceAll(addr.String(), ":", "_")
	}
	return addr.String()
}

// ReleaseConfig returns the least network configuration by which host-local
// releases what an interface has: leases go by container and interface, in
// whichever range they are, so the configuration's own ranges may be broken, or
// missing where the runtime gives them. typ is ipam.type, a name of host-local;
// empty texts are left out.
func ReleaseConfig(network, cniVersion, typ, dataDir string) []byte {
	// It wants some subnet (RFC 5737).
	sub := object{{key: "type", value: quote(typ)}, {key: "subnet", value: quote("192.0.2.0/24")}}
	if dataDir != "" {
		sub = sub.with("dataDir", quote(dataDir))
	}
	conf := object{{key: "name", value: quote(network)}, {key: "ipam", value: sub.text()}}
	if cniVersion != "" {
		conf = conf.with("cniVersion", quote(cniVersion))
	}
	return conf.text()
}
