// Command anymode is a CNI plugin whose mode the configuration says, for the
// modes that no example plugin is for. Its HNS is that of the example plugins:
// the real one on Windows, elsewhere the emulator in the file HNS_EMULATOR.
package main

import (
	"os"
	"runtime"

	"github.com/hnskit/hnskit/hns"
	"github.com/hnskit/hnskit/hns/emulator"
	"github.com/hnskit/hnskit/modes/cniplugin"
)

func main() { (&cniplugin.Plugin{Name: "anymode", Open: open}).Main() }

func open(opts *hns.Options) (*hns.Client, error) {
	if runtime.GOOS == "windows" {
		return hns.Open(opts)
	}
	h, err := emulator.Open(os.Getenv("HNS_EMULATOR"), nil)
	if err != nil {
		return nil, err
	}
	return hns.New(h, opts), nil
}
