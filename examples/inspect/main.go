// Command inspect says what is wrong with the files of a Windows node:
//
//	inspect [-json] FILE...
//
// It recognises CNI configurations and lists, flannel's net-conf.json and
// subnet.env, documents, dumps and requests of HNS in both schemas (what
// PowerShell's ConvertTo-Json writes too), and error texts of HNS; for each file it
// says what it is, the mode and the schema, whether the plugins of this module
// accept it, and what is wrong with it: where, how bad, why, and what to do. Given
// several files it also says where they do not agree. The file "-" is the standard
// input.
//
// With -json each file is one JSON object on a line: file, kind, mode, api, verdict
// (accept or refuse) and findings.
//
// The exit status is 0 if all files are clean, which notes leave them; 1 if there
// are errors or warnings; 2 if a file cannot be read or is nothing that is known.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/hnskit/hnskit/modes/inspect"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// Exit statuses.
const (
	clean = iota
	withFindings
	unreadable
)

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("inspect", flag.ContinueOnError)
	flags.SetOutput(stderr)
	asJSON := flags.Bool("json", false, "print one JSON object a file")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: inspect [-json] FILE...   (- is the standard input)")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return clean
	case err != nil:
		return unreadable
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return unreadable
	}
	status := clean
	var reports []*inspect.Report
	for _, name := range flags.Args() {
		data, err := read(name, stdin)
		if err != nil {
			fmt.Fprintf(stderr, "inspect: %v\n", err)
			status = unreadable
			continue
		}
		reports = append(reports, inspect.File(name, data))
	}
	inspect.Agree(reports)
	for _, r := range reports {
		switch {
		case r.Kind == inspect.Unknown:
			status = unreadable
		case !r.Clean():
			status = max(status, withFindings)
		}
	}
	print := printText
	if *asJSON {
		print = printJSON
	}
	if err := print(stdout, reports); err != nil {
		fmt.Fprintf(stderr, "inspect: %v\n", err)
		return unreadable
	}
	return status
}

func read(name string, stdin io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(name)
}

func printJSON(w io.Writer, reports []*inspect.Report) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, r := range reports {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func printText(w io.Writer, reports []*inspect.Report) error {
	for _, r := range reports {
		if _, err := io.WriteString(w, r.Text()); err != nil {
			return err
		}
	}
	return nil
}
