// Command exit proves that a Windows program runs: it prints the operating
// system, its arguments and its input, and ends with status 3.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
)

func main() {
	in, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%s %q %q\n", runtime.GOOS, os.Args[1:], in)
	fmt.Fprintln(os.Stderr, "on standard error")
	os.Exit(3)
}
