// Command hello is built by the tests of toolbuild.
package main

import "fmt"

func main() { fmt.Println("hello") }
