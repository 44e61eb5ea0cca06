package ipam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
)

// firstWithGC is the CNI version that brought GC and STATUS.
const firstWithGC = "1.1.0"

// GC runs the plugin's GC with the valid attachments in the configuration, in
// place of any that are in it.
//
// The plugin is not run, and the error matches errors.ErrUnsupported, if the
// configuration's CNI version is below 1.1.0. The same error says that the plugin
// is too old to know the verb.
func (d *Delegated) GC(ctx context.Context, req Request, valid []Attachment) error {
	req = ofNetwork(req)
	config, err := withAttachments(req.Config, valid)
	if err != nil {
		return fmt.Errorf("IPAM GC: %w", err)
	}
	req.Config = config
	return d.runNetwork(ctx, "GC", req)
}

// Status runs the plugin's STATUS. For CNI versions below 1.1.0 and for plugins
// too old to know the verb the error matches errors.ErrUnsupported, as for GC.
func (d *Delegated) Status(ctx context.Context, req Request) error {
	return d.runNetwork(ctx, "STATUS", ofNetwork(req))
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
