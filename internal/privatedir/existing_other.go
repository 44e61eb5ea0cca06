//go:build !windows

package privatedir

func checkExisting(string) error { return nil }
