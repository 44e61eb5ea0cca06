package cniplugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/internal/errlist"
)

// Names of members are matched ignoring case, so one object can hold two that
// are one name. Which of them a decoder takes depends on their order, or on
// chance: it is an error, and where a verb must go on all the same, DEL, the
// exact spelling counts.

// object decodes an object, and complains of names that are there twice.
func (p *configParser) object(path string, raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if !p.value(path, raw, &members) {
		return nil
	}
	if err := checkTwice(path, members); err != nil {
		p.bad = append(p.bad, err)
	}
	return members
}

// checkTwice returns a complaint for each name that is there in two spellings.
func checkTwice(path string, members map[string]json.RawMessage) error {
	var bad []error
	for _, same := range spellings(members) {
		bad = append(bad, twiceError(path, same))
	}
	return errlist.Join(bad...)
}

func twiceError(path string, same []string) error {
	at := same[0]
	if path != "" {
		at = path + "." + at
	}
	return &hns.FieldError{Path: at, Reason: fmt.Sprintf("is there twice, also as %q", same[1:])}
}

// spellings returns the names that differ in letter case alone, together.
func spellings(members map[string]json.RawMessage) [][]string {
	same := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		same[fold(name)] = append(same[fold(name)], name)
	}
	maps.DeleteFunc(same, func(_ string, names []string) bool { return len(names) < 2 })
	var out [][]string
	for _, key := range slices.Sorted(maps.Keys(same)) {
		out = append(out, same[key])
	}
	return out
}

// fold is one text for all spellings that encoding/json takes for one name.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// wireNames returns the names of wireConfig's members, by their fold.
func wireNames() map[string]string {
	out := map[string]string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[wireConfig]()) {
		name := f.Tag.Get("json")
		out[fold(name)] = name
	}
	return out
}

// runtimeNames are the members that a runtime puts into the configuration, in
// their exact spelling, whatever a file had already: OpenShift's bootstrapper
// wrote all keys in capitals, and libcni adds cniVersion and name.
var runtimeNames = []string{"cniVersion", "name", "prevResult", "runtimeConfig", "args", keyAttachments, keyOldAttachments}

// decodeOnce decodes a configuration that w could be decoded from once more if
// a name of ours is in it twice, with its exact spelling alone, and returns the
// complaint if that was not the runtime's. What is not ours may be in it as it
// likes.
func decodeOnce(stdin []byte, w *wireConfig) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(stdin, []byte("\ufeff")), &all); err != nil {
		return err
	}
	ours := wireNames()
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return ours[fold(name)] == "" })
	twice := spellings(all)
	var complaints []error
	for _, same := range twice {
		keep := ours[fold(same[0])]
		if !slices.Contains(same, keep) {
			keep = same[0]
		}
		if !slices.Contains(runtimeNames, keep) {
			complaints = append(complaints, twiceError("", same))
		}
		for _, name := range same {
			if name != keep {
				delete(all, name)
			}
		}
	}
	if len(twice) == 0 {
		return nil
	}
	doc, err := json.Marshal(all)
	if err != nil {
		return err
	}
	*w = wireConfig{}
	return errlist.Join(append(complaints, json.Unmarshal(doc, w))...)
}
