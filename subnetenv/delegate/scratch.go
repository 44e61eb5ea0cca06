package delegate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hnskit/hnskit/internal/atomicfile"
	"github.com/hnskit/hnskit/internal/privatedir"
)

// Scratch keeps, for each attachment, the configuration that its delegate got at
// ADD, since a DEL must hand over the same one, whatever has become of the CNI
// configuration and of subnet.env.
//
// A file is the configuration itself, named after container, network and
// interface. Upstream names its file after the container alone, so that of two
// flannel networks of one pod the second overwrites the first's; such files are
// still understood, so that pods made by upstream's plugin can be deleted.
//
// Calls for one attachment must not overlap; the caller has a lock per sandbox
// anyway. Each call works on a few small local files and takes no context: on
// Windows it may spend about two seconds on a file that is held by others.
type Scratch struct {
	// Dir is Config.DataDir. Save makes it, for the node's services alone.
	Dir string
}

// Save keeps conf, a configuration from Build, for the attachment, and replaces
// what was kept before. It reaches the disk before Save returns.
func (s Scratch) Save(a Attachment, conf []byte) error {
	if err := a.Validate(); err != nil {
		return fmt.Errorf("save delegate configuration: %w", err)
	}
	if reason := refuseSaved(conf, a.Network); reason != "" {
		return fmt.Errorf("save delegate configuration of %s: %s", a.Network, reason)
	}
	if err := privatedir.Make(s.Dir); err != nil {
		return fmt.Errorf("save delegate configuration: %w", err)
	}
	if err := atomicfile.Write(s.path(a), conf, 0o600); err != nil {
		return fmt.Errorf("save delegate configuration: %w", err)
	}
	return nil
}

// Load returns what was saved for the attachment: by Save, else by upstream's
// plugin for this container, if that is of this network.
//
// Nothing there matches fs.ErrNotExist; something unusable there matches
// ErrBrokenScratch and names the file. In both cases a DEL goes on with Rebuild:
// the file may have been lost, and taking its absence for "nothing to do" would
// leave the endpoint and the address behind.
func (s Scratch) Load(a Attachment) ([]byte, error) {
	if err := a.Validate(); err != nil {
		return nil, fmt.Errorf("load delegate configuration: %w", err)
	}
	path := s.path(a)
	conf, err := atomicfile.Read(path)
	if err == nil {
		if err := broken(path, refuseSaved(conf, a.Network)); err != nil {
			return nil, fmt.Errorf("load delegate configuration: %w", err)
		}
		return conf, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("load delegate configuration: %w", err)
	}
	legacy, legacyErr := s.readLegacy(a.ContainerID)
	switch {
	case errors.Is(legacyErr, fs.ErrNotExist) || legacyErr == nil && networkOf(legacy) != a.Network:
		return nil, fmt.Errorf("load delegate configuration: %w", err)
	case legacyErr != nil:
		return nil, fmt.Errorf("load delegate configuration: %w", legacyErr)
	}
	return legacy, nil
}

// Remove forgets the attachment, once its delegate's DEL has succeeded. That
// takes in a file of upstream's for this container, if it is of this network or
// broken, and what a killed Save has left. Nothing there is no error.
func (s Scratch) Remove(a Attachment) error {
	if err := a.Validate(); err != nil {
		return fmt.Errorf("remove delegate configuration: %w", err)
	}
	paths := []string{s.path(a)}
	legacy, err := s.readLegacy(a.ContainerID)
	if errors.Is(err, ErrBrokenScratch) || err == nil && networkOf(legacy) == a.Network {
		paths = append(paths, filepath.Join(s.Dir, a.ContainerID))
	}
	errs := []error{atomicfile.RemoveTemps(s.path(a))}
	for _, path := range paths {
		errs = append(errs, ignoreMissing(atomicfile.Remove(path)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove delegate configuration: %w", err)
	}
	return nil
}

// Leftover is one file of List.
type Leftover struct {
	// Attachment is what the file is for. Of upstream's files IfName is unknown,
	// and Network too if Err is set.
	Attachment Attachment
	// Path of the file.
	Path string
	// Upstream reports that upstream's plugin made it.
	Upstream bool
	// Err is nil if Load would return the configuration; else as from Load.
	Err error
}

// List returns all that is kept, sorted by file name: what should be as many
// entries as the node has attached pods, but for those whose names were too long
// for a file's (200 characters in all). Without the directory there are none.
func (s Scratch) List() ([]Leftover, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var list []Leftover
	for _, e := range entries {
		if e.IsDir() || atomicfile.IsTemp(e.Name(), "") {
			continue
		}
		l := Leftover{Path: filepath.Join(s.Dir, e.Name())}
		if a, ok := attachmentOf(e.Name()); ok {
			l.Attachment = a
			_, l.Err = s.Load(a)
		} else if isFileName(e.Name()) {
			conf, err := s.readLegacy(e.Name())
			l.Attachment = Attachment{ContainerID: e.Name(), Network: networkOf(conf)}
			l.Upstream, l.Err = true, err
		} else {
			continue // nobody's
		}
		if !errors.Is(l.Err, fs.ErrNotExist) { // removed since the directory was read
			list = append(list, l)
		}
	}
	return list, nil
}

func (s Scratch) path(a Attachment) string { return filepath.Join(s.Dir, a.fileName()) }

// readLegacy reads upstream's file for the container.
func (s Scratch) readLegacy(containerID string) ([]byte, error) {
	if !isFileName(containerID) {
		return nil, fs.ErrNotExist
	}
	path := filepath.Join(s.Dir, containerID)
	conf, err := atomicfile.Read(path)
	if err != nil {
		return nil, err
	}
	_, reason := parseSaved(conf)
	if err := broken(path, reason); err != nil {
		return nil, err
	}
	return conf, nil
}

// saved is what must be in a configuration for it to be of any use to DEL.
type saved struct {
	Name, Type string
}

// parseSaved also says why conf cannot be a delegate's configuration.
func parseSaved(conf []byte) (s saved, reason string) {
	err := json.Unmarshal(conf, &s)
	switch {
	case len(conf) == 0:
		reason = "it is empty"
	case err != nil:
		reason = fmt.Sprintf("it is not a configuration: %v", err)
	case s.Type == "":
		reason = "it has no type"
	case s.Name == "":
		reason = "it has no name"
	}
	return s, reason
}

// refuseSaved says why conf cannot be the configuration for the network.
func refuseSaved(conf []byte, network string) string {
	s, reason := parseSaved(conf)
	if reason == "" && s.Name != network {
		reason = fmt.Sprintf("it is of network %q", s.Name)
	}
	return reason
}

func networkOf(conf []byte) string {
	s, _ := parseSaved(conf)
	return s.Name
}

func broken(path, reason string) error {
	if reason == "" {
		return nil
	}
	return fmt.Errorf("%w: %s: %s", ErrBrokenScratch, path, reason)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// PluginType returns the type of a delegate's configuration, that is, which
// plugin to run. If it has none, the error matches ErrBrokenScratch.
func PluginType(conf []byte) (string, error) {
	s, reason := parseSaved(conf)
	if reason != "" {
		return "", fmt.Errorf("%w: %s", ErrBrokenScratch, reason)
	}
	return s.Type, nil
}
