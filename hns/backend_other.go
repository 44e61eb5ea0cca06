//go:build !windows

package hns

func openNative() (Backend, error) { return nil, ErrUnsupportedOS }
