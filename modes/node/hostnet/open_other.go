//go:build !windows

package hostnet

import "fmt"

// Open returns the host side of this machine.
func Open() (Host, error) { return nil, fmt.Errorf("hostnet: %w", ErrUnsupportedOS) }
