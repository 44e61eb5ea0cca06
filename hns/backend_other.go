//go:build !windows

package hns

// Open returns a client of the HNS of this machine. On this operating system
// there is none: the error is always [ErrUnsupportedOS]. Use [New] with the
// emulator of package hns/emulator.
func Open(*Options) (*Client, error) {
	return nil, &Error{Op: "open", Err: ErrUnsupportedOS}
}
