package ipam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/hnskit/hnskit/internal/errlist"
)

// firstWithGC is the CNI version that brought GC and STATUS.
const firstWithGC = "1.1.0"

// GC runs the plugin's GC with the valid attachments in the configuration, in
// place of any that are in it. The plugin is not run, and the error matches
// errors.ErrUnsupported, if the configuration's CNI version is below 1.1.0. The
// same error says that the plugin is too old to know the verb.
//
// host-local's success says nothing: up to its version 1.7.1 at least it answers
// GC without removing a lease. So after host-local's GC, and for it in every CNI
// version, Delegated reads the leases itself, runs DEL for each stale attachment,
// and looks again: an error names the addresses that are still held. It also
// removes lease files without an owner, which a host-local that was killed leaves
// and which no DEL can name, while it holds the lock that host-local writes them
// under.
func (d *Delegated) GC(ctx context.Context, req Request, valid []Attachment) error {
	req = ofNetwork(req)
	config, err := withAttachments(req.Config, valid)
	if err != nil {
		return fmt.Errorf("IPAM GC: %w", err)
	}
	store, err := storeOf(req.Config)
	if err != nil {
		return fmt.Errorf("IPAM GC: %w", err)
	}
	err = d.runNetwork(ctx, "GC", Request{PluginPath: req.PluginPath, Config: config})
	if store == nil {
		return err
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errlist.Join(err, d.releaseStale(ctx, store, req, valid))
}

// Status runs the plugin's STATUS. For CNI versions below 1.1.0 and for plugins
// too old to know the verb the error matches errors.ErrUnsupported, as for GC.
//
// host-local answers STATUS without looking at anything, up to its version 1.7.1
// at least. So for it Delegated also looks whether leases can be read. A
// directory that is not there yet is right: host-local makes it. Nor is a network
// whose addresses are all taken an error: a runtime takes the node for broken
// then, with all the pods that run on it.
func (d *Delegated) Status(ctx context.Context, req Request) error {
	req = ofNetwork(req)
	store, err := storeOf(req.Config)
	if err != nil {
		return fmt.Errorf("IPAM STATUS: %w", err)
	}
	err = d.runNetwork(ctx, "STATUS", req)
	if store == nil || err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if _, dirErr := Leases(store.dataDir, store.network); dirErr != nil {
		return fmt.Errorf("%s STATUS: %w", store.typ, dirErr)
	}
	return err
}

// ofNetwork is the request without what belongs to one attachment.
func ofNetwork(req Request) Request {
	return Request{PluginPath: req.PluginPath, Config: req.Config}
}

// runNetwork runs a verb that is about a network as a whole. libcni does not run
// them for a configuration below 1.1.0, and skel refuses to.
func (d *Delegated) runNetwork(ctx context.Context, verb string, req Request) error {
	confVersion, err := (&version.ConfigDecoder{}).Decode(withoutMark(req.Config))
	if err != nil {
		return fmt.Errorf("IPAM %s: %w", verb, err)
	}
	if ok, err := version.GreaterThanOrEqualTo(confVersion, firstWithGC); err != nil {
		return fmt.Errorf("IPAM %s: %w", verb, &ConfigError{Path: "cniVersion", Value: string(quote(confVersion)), Err: err})
	} else if !ok {
		return fmt.Errorf("IPAM %s: CNI version %s has no such verb: %w", verb, confVersion, errors.ErrUnsupported)
	}
	err = d.run(ctx, verb, req)
	if isUnknownVerb(err) {
		return fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
	}
	return err
}

// isUnknownVerb reports whether a plugin was too old for the verb. One made with
// package skel says so with code 4 or, in its first versions, 100, which stand
// for other things too: the text has to tell. Code 1 is no such case: a plugin
// below the configuration's version could not serve an ADD either.
func isUnknownVerb(err error) bool {
	var printed *types.Error
	return errors.As(err, &printed) && strings.HasPrefix(printed.Msg, "unknown CNI_COMMAND")
}

// withAttachments puts the valid attachments into a configuration, under the
// specification's key and, as libcni does, under the one that its first edition
// used (containernetworking/cni#1101).
func withAttachments(config []byte, valid []Attachment) ([]byte, error) {
	keys := []string{"cni.dev/valid-attachments", "cni.dev/attachments"}
	obj, err := readObject(config, keys...)
	if err != nil {
		return nil, &ConfigError{Path: "network configuration", Err: err}
	}
	list := make([]types.GCAttachment, 0, len(valid))
	for _, a := range valid {
		list = append(list, types.GCAttachment{ContainerID: a.ContainerID, IfName: a.IfName})
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		obj = obj.with(key, text)
	}
	return obj.text(), nil
}
