package cniplugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/hnskit/hnskit/internal/confjson"
)

// readStdin reads the configuration from standard input, which it replaces by
// one that gives the same again, without a byte order mark. A fault of syntax is found here because skel,
// which looks next, would tell neither line nor column, and nothing about a
// byte order mark or a no-break space.
func readStdin() ([]byte, *types.Error) {
	switch os.Getenv("CNI_COMMAND") {
	case "", "VERSION": // need no configuration; a terminal would be waited for
		return nil, nil
	}
	conf, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, types.NewError(types.ErrIOFailure, "standard input: "+err.Error(), "")
	}
	conf = bytes.TrimPrefix(conf, []byte("\ufeff"))
	if e := checkSyntax(conf); e != nil {
		return conf, e
	}
	r, w, err := os.Pipe()
	if err != nil {
		return conf, types.NewError(types.ErrIOFailure, err.Error(), "")
	}
	go func() {
		_, _ = w.Write(conf)
		w.Close()
	}()
	os.Stdin = r
	return conf, nil
}

// checkSyntax reports what is no JSON. Values are for the verb to judge.
func checkSyntax(conf []byte) *types.Error {
	var doc json.RawMessage
	err := confjson.Unmarshal(conf, &doc)
	var fault *confjson.Error
	if errors.As(err, &fault) {
		return types.NewError(types.ErrDecodingFailure, "configuration: "+fault.Error(), "")
	}
	return nil
}
