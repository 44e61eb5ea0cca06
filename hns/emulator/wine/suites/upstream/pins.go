//go:build pins

// Package upstream pins the modules whose tests package suites runs. It is a
// module of its own because they need a newer Go than the rest, and it has no
// code: the tags leave its one file out of every build.
package upstream

import (
	_ "github.com/Microsoft/hcsshim/hcn"
	_ "github.com/Microsoft/hnslib/hcn"
)
