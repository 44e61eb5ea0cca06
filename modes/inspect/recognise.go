package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/v1doc"
	"github.com/hnskit/hnskit/internal/confjson"
	"github.com/hnskit/hnskit/modes"
)

// members are those of a JSON object, by their names in small letters.
type members map[string]json.RawMessage

func membersOf(raw json.RawMessage) (members, bool) {
	var exact map[string]json.RawMessage
	if json.Unmarshal(raw, &exact) != nil || exact == nil {
		return nil, false
	}
	m := members{}
	for k, v := range exact {
		if string(v) != "null" {
			m[strings.ToLower(k)] = v
		}
	}
	return m, true
}

// has counts how many of the members are there.
func (m members) has(names ...string) int {
	n := 0
	for _, name := range names {
		if _, ok := m[strings.ToLower(name)]; ok {
			n++
		}
	}
	return n
}

// text is a member that is a text, else "".
func (m members) text(name string) string {
	var s string
	if json.Unmarshal(m[strings.ToLower(name)], &s) != nil {
		return ""
	}
	return s
}

// recognise finds out what the file is, and has it inspected.
func (r *Report) recognise(data []byte) {
	text, was16 := utf8Of(data)
	trimmed := bytes.TrimSpace(text)
	switch {
	case looksLikeEnv(r.File, text):
		r.subnetEnv(data) // whose parser minds UTF-16
	case len(trimmed) == 0:
		r.add(modes.SeverityError, "", "", "the file is empty", "")
	case trimmed[0] == '{' || trimmed[0] == '[':
		docs, err := split(trimmed)
		if err != nil {
			r.broken(text, err)
			return
		}
		r.json(text, docs, was16)
	default:
		r.text(string(text))
	}
}

var envLine = regexp.MustCompile(`(?m)^[ \t#]*(export[ \t]+)?FLANNEL_[A-Z0-9_]+[ \t]*=`)

// looksLikeEnv goes by flannel's keys, and by the name of a file without any.
func looksLikeEnv(file string, text []byte) bool {
	return envLine.Match(text) || strings.EqualFold(filepath.Ext(file), ".env")
}

// split returns the JSON values of a text, one after the other, as hnsdiag -d
// prints them. The error is of encoding/json.
func split(text []byte) ([]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	var out []json.RawMessage
	for {
		var raw json.RawMessage
		err := d.Decode(&raw)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		}
		out = append(out, raw)
	}
}

// json inspects a text that is JSON.
func (r *Report) json(text []byte, docs []json.RawMessage, was16 bool) {
	if len(docs) == 1 {
		if m, ok := membersOf(docs[0]); ok && r.object(text, docs[0], m) {
			if was16 && r.Kind != HNSError && r.Kind != HNSDump {
				r.add(modes.SeverityError, "", "", "the text is UTF-16; plugins and flanneld read UTF-8 alone", "save it as UTF-8: Out-File -Encoding utf8")
			}
			return
		}
	}
	all, err := v1doc.Split(text)
	switch {
	case err == nil && r.hnsDocuments(all):
	case len(hns.FailuresIn(string(text))) > 0:
		r.errorText(string(text))
	default:
		r.add(modes.SeverityError, "", "", "JSON that is nothing known here: no CNI configuration, net-conf.json, document or error of HNS", "")
	}
}

// object inspects a JSON object that is more than a document of HNS, and reports
// whether it is.
func (r *Report) object(text []byte, raw json.RawMessage, m members) bool {
	switch {
	case m.has("plugins") == 1 && m.has("name", "cniVersion") > 0:
		r.confList(text)
	case m.has("Backend") == 1, m.has("Network") == 1 && m.has("Name", "Type") == 0:
		r.netConfig(text)
	case m.has("Networks", "Endpoints", "Namespaces") > 1:
		r.snapshot(text)
	case m.has("Success", "ErrorCode") > 0 && m.has("Output") == 0, m.has("code", "msg") == 2:
		r.errorText(string(raw))
	case m.has("ip4", "ip6", "ips") > 0 && m.has("type", "plugins") == 0:
		r.result(raw)
	case m.has("cniVersion", "ipam") == 2 && m.has("type", "delegate", "policies") == 0:
		r.ipamConf(raw)
	case isConf(m):
		r.conf(text)
	default:
		return false
	}
	return true
}

// isConf tells a network configuration from a document of HNS, whose members have
// the same names but for letter case.
func isConf(m members) bool {
	if m.has("SchemaVersion", "ID", "Ipams", "Subnets", "VirtualNetwork", "HostComputeNetwork", "Settings") > 0 {
		return false
	}
	if m.has("cniVersion", "ipam", "delegate", "capabilities", "endpointMacPrefix", "ipMasq", "ipMasqNetwork", "AdditionalArgs") > 0 {
		return true
	}
	_, isMode := modes.ParseMode(m.text("type"))
	return m.has("name", "type") == 2 && isMode != nil && m.text("type") != "" && !isPolicyType(m.text("type")) && !isNamespaceType(m.text("type"))
}

func isNamespaceType(t string) bool {
	switch strings.ToLower(t) {
	case "host", "hostdefault", "guest", "guestdefault", "ics", "private", "internal", "mirrored":
		return true
	}
	return false
}

// broken inspects a text that begins like JSON and is none: what it was meant to
// be is told by its names. Blanks of the wrong sort are no reason not to look at
// the rest.
func (r *Report) broken(text []byte, err error) {
	if errText := string(text); len(hns.FailuresIn(errText)) > 0 {
		r.errorText(errText)
		return
	}
	var syntax *json.SyntaxError
	at := len(text)
	if errors.As(err, &syntax) {
		at = int(syntax.Offset)
	}
	var any json.RawMessage
	fault := confjson.Unmarshal(text, &any)
	if fault == nil { // several documents, of which a later one is broken
		line, column := place(text, at)
		r.Findings = append(r.Findings, Finding{Line: line, Column: column, Severity: modes.SeverityError, Reason: "not JSON: " + err.Error()})
	} else {
		r.syntax(fault)
	}
	plain := wrongBlanks.Replace(string(text))
	if docs, err := split([]byte(plain)); err == nil && plain != string(text) {
		r.json([]byte(plain), docs, false)
		return
	}
	r.guess(string(text))
}

var wrongBlanks = strings.NewReplacer("\u00a0", " ", "\u200b", "", "\ufeff", "", "\u201c", `"`, "\u201d", `"`)
