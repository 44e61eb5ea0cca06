//go:build !windows

package privatedir

import "os"

func mkdir(dir string) error { return os.Mkdir(dir, 0o700) }
