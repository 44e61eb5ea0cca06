// Command wait says that it waits, and does so until its input ends.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	fmt.Print("waiting")
	io.Copy(io.Discard, os.Stdin)
}
