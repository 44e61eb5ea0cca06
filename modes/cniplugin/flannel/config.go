package flannel

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/hnskit/hnskit/internal/confjson"
	"github.com/hnskit/hnskit/internal/pluginlog"
	"github.com/hnskit/hnskit/modes/cniplugin"
	"github.com/hnskit/hnskit/subnetenv"
	"github.com/hnskit/hnskit/subnetenv/delegate"
)

func readEnv(cfg *delegate.Config) (*subnetenv.Env, error) {
	env, err := subnetenv.Read(cfg.SubnetFile)
	if err != nil {
		return nil, &cniplugin.Error{Code: envCode(err), Err: err}
	}
	return env, nil
}

func parse(stdin []byte) (*delegate.Config, error) {
	cfg, err := delegate.Parse(stdin)
	if err == nil {
		shareKeys(cfg)
		return cfg, nil
	}
	code := codeInvalidConfig
	var syntax *delegate.SyntaxError
	if errors.As(err, &syntax) {
		code = codeDecoding
	}
	return nil, &cniplugin.Error{Code: code, Err: err}
}

// parseLeast reads what DEL needs of a configuration that is spoilt otherwise;
// nil if not even that is there.
func parseLeast(stdin []byte) *delegate.Config {
	var w struct {
		Name    string          `json:"name"`
		DataDir json.RawMessage `json:"dataDir"`
	}
	if confjson.Unmarshal(stdin, &w) != nil {
		return nil
	}
	least, err := json.Marshal(map[string]any{"name": w.Name, "type": "flannel", "dataDir": w.DataDir})
	if err != nil {
		return nil
	}
	cfg, err := delegate.Parse(least)
	if err != nil {
		return nil
	}
	return cfg
}

// sharedKeys are the keys of ours that may stand at the top level.
func sharedKeys() []string { return []string{"timeout", "stateDir", "logFile", "logLevel"} }

// warnUnread logs the keys at the top level that have no effect, where the delegate
// logs. They are no error: upstream passes over them.
func warnUnread(cfg *delegate.Config, verb, containerID string) {
	unread := cfg.Unread(sharedKeys()...)
	if len(unread) == 0 {
		return
	}
	var level slog.Level // info, if it cannot be read
	_ = level.UnmarshalText([]byte(text(cfg, "logLevel")))
	log, closeLog, err := pluginlog.Open(text(cfg, "logFile"), level)
	if err != nil {
		return // the delegate's complaint
	}
	defer closeLog()
	log.Warn("flannel does not read these keys, and does not hand them to the delegate; put them into delegate, or take them out",
		"verb", verb, "container", containerID, "network", cfg.Name, "keys", unread)
}

// shareKeys gives the delegate the keys of ours that stand at the top level.
func shareKeys(cfg *delegate.Config) {
	if cfg.Delegate == nil {
		return // refused later, by those verbs that need it
	}
	for name, value := range cfg.Extra {
		if !slices.ContainsFunc(sharedKeys(), func(k string) bool { return strings.EqualFold(k, name) }) {
			continue
		}
		if _, own := member(cfg.Delegate, name); !own {
			cfg.Delegate[name] = value
		}
	}
}

// member returns a member whatever the letter case of its name.
func member(o map[string]json.RawMessage, name string) (json.RawMessage, bool) {
	for k, v := range o {
		if strings.EqualFold(k, name) {
			return v, true
		}
	}
	return nil, false
}

// text is a member of the delegate that is a text; "" if there is none. One
// that is of another type is for the delegate to refuse.
func text(cfg *delegate.Config, name string) string {
	var s string
	if v, ok := member(cfg.Delegate, name); ok && json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// timeout is that of the delegate, whose complaint it is if it cannot be read.
func timeout(cfg *delegate.Config) time.Duration {
	if d, err := time.ParseDuration(text(cfg, "timeout")); err == nil && d > 0 {
		return d
	}
	return cniplugin.DefaultTimeout
}

func envCode(err error) uint {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, subnetenv.ErrNotReady) {
		return codeTryAgain
	}
	return codeInvalidConfig
}
