// Package emuopen opens the emulated HNS that a user names by a file, a version
// and adapters: as a program that has it in its process, and as the DLLs for Wine.
package emuopen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
)

// Wish is what a user asks for. The zero Wish is a new HNS in memory.
type Wish struct {
	// Path of the state file; empty: the memory of this process.
	Path string
	// Version of HNS; zero leaves the choice to the emulator.
	Version hns.Version
	// Adapters of the host; nil leaves them to the emulator.
	Adapters []emulator.Adapter
}

// Open opens it. Version and adapters are for a new HNS; one that is in the file
// already keeps what it has, and an error says where that is something else.
func Open(w Wish) (*emulator.HNS, error) {
	opts := &emulator.Options{Version: w.Version, Adapters: w.Adapters}
	if w.Path == "" {
		return emulator.New(opts), nil
	}
	if w.Version == (hns.Version{}) && w.Adapters == nil {
		return emulator.Open(w.Path, nil)
	}
	if _, err := os.Stat(w.Path); errors.Is(err, fs.ErrNotExist) {
		return emulator.Open(w.Path, opts)
	}
	h, err := emulator.Open(w.Path, nil)
	if err != nil {
		return nil, err
	}
	return h, w.check(h)
}

// check compares the HNS with the wish.
func (w *Wish) check(h *emulator.HNS) error {
	s, err := h.Snapshot()
	if err != nil {
		return err
	}
	if w.Version != (hns.Version{}) && s.Version != w.Version {
		return fmt.Errorf("%s is the state of HNS %s, but %s is asked for", w.Path, s.Version, w.Version)
	}
	if w.Adapters == nil {
		return nil
	}
	have, err := h.Adapters()
	if err != nil {
		return err
	}
	if got, want := Format(bare(have)), Format(w.Adapters); got != want {
		return fmt.Errorf("%s has the adapters %s, but %s are asked for", w.Path, got, want)
	}
	return nil
}

// bare undoes what HNS did to the adapters: without its vNICs, and with the
// addresses that those took over.
func bare(all []emulator.Adapter) []emulator.Adapter {
	var out []emulator.Adapter
	for _, a := range all {
		if a.Virtual {
			continue
		}
		if i := slices.IndexFunc(all, func(x emulator.Adapter) bool { return x.Virtual && x.Name == "vEthernet ("+a.Name+")" }); i >= 0 {
			a.Addresses = all[i].Addresses
		}
		out = append(out, a)
	}
	return out
}

// Format writes adapters in the form of [ParseAdapters].
func Format(adapters []emulator.Adapter) string {
	var out []string
	for _, a := range adapters {
		var addresses []string
		for _, p := range a.Addresses {
			addresses = append(addresses, p.String())
		}
		out = append(out, a.Name+"="+strings.Join(addresses, ","))
	}
	return strings.Join(out, ";")
}
