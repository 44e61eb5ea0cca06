package native

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/gofrs/flock"
)

// Call is one native call, and one line of the log.
type Call struct {
	// Func is the entry point, such as "HcnOpenNetwork".
	Func string `json:"fn"`
	// PID is the process that called, in Wine's numbering.
	PID int `json:"pid"`
	// ID is the object, as far as it is known: empty for enumerations, v1
	// calls, bad handles, and creates that failed without an id.
	ID string `json:"id,omitempty"`
	// Network is that of an endpoint that is created.
	Network string `json:"network,omitempty"`
	// Method and Path are those of a v1 call.
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	// Doc is the JSON that went in: query, settings or body. What was no JSON
	// is here as a JSON string; nil if there was none.
	Doc json.RawMessage `json:"doc,omitempty"`
	// HR is the HRESULT that came out; zero is success.
	HR uint32 `json:"hr"`
	// Error is the message of a failure.
	Error string `json:"error,omitempty"`
}

// Log writes calls to a file, one line of JSON each, in the order in which
// they ended. Any number of processes may share the file: each line is
// written under the lock of a second file beside it, PATH.lock, because
// appending is not atomic under Wine.
type Log struct {
	path string
	mu   sync.Mutex // flock tells handles apart, not goroutines
	lock *flock.Flock
}

// NewLog returns a log in the file path, which is made when first needed. It
// fails if the file cannot be opened for writing.
func NewLog(path string) (*Log, error) {
	l := &Log{path: path, lock: flock.New(path+".lock", flock.SetPermissions(0o600))}
	f, err := l.open()
	if err != nil {
		return nil, fmt.Errorf("call log: %w", err)
	}
	return l, f.Close()
}

// Add appends a call. A nil Log drops it.
func (l *Log) Add(c Call) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.lock.Lock(); err != nil {
		return fmt.Errorf("call log: lock: %w", err)
	}
	err := l.append(encode(c) + "\n")
	if err = errors.Join(err, l.lock.Unlock()); err != nil {
		return fmt.Errorf("call log: %w", err)
	}
	return nil
}

func (l *Log) append(line string) error {
	f, err := l.open()
	if err != nil {
		return err
	}
	_, err = f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.WriteString(line)
	}
	return errors.Join(err, f.Close())
}

func (l *Log) open() (*os.File, error) {
	return os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY, 0o600)
}

// ReadLog reads a log. A line that is no call is an error with its number.
func ReadLog(path string) ([]Call, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var calls []Call
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if len(line) == 0 {
			return calls, nil
		}
		var c Call
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		calls = append(calls, c)
	}
}

// logged returns text as a Doc.
func logged(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return json.RawMessage(encode(text))
}
