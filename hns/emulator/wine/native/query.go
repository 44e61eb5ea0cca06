package native

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hnskit/hnskit/hns"
)

// query is what matters of a HostComputeQuery: {"SchemaVersion", "Flags",
// "Filter"}.
type query struct {
	schema uint32 // major version wanted; zero if not said
	filter string // a JSON object as text, or empty
}

// parseQuery reads a HostComputeQuery. Filter is a text that holds a JSON
// object; an object in its place is taken, too. The empty text asks for
// everything.
func parseQuery(text string) (query, error) {
	if strings.TrimSpace(text) == "" {
		return query{}, nil
	}
	var w struct {
		SchemaVersion struct{ Major, Minor uint32 }
		Filter        json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return query{}, badQuery(fmt.Sprintf("the query %.80q: %v", text, err))
	}
	q := query{schema: w.SchemaVersion.Major}
	filter := []byte(w.Filter)
	if len(filter) > 0 && filter[0] == '"' {
		var s string
		if err := json.Unmarshal(filter, &s); err != nil {
			return query{}, badQuery(err.Error())
		}
		filter = []byte(s)
	}
	filter = bytes.TrimSpace(filter)
	if len(filter) == 0 || string(filter) == "null" {
		return q, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(filter, &object); err != nil {
		return query{}, badQuery(fmt.Sprintf("the filter %.80q of the query is no JSON object: %v", filter, err))
	}
	if len(object) > 0 {
		q.filter = string(filter)
	}
	return q, nil
}

func badQuery(text string) error {
	return &hns.BackendError{Code: hns.CodeInvalidJSON, Text: text}
}
