// Command listings writes by what others find and install a release:
//
//	listings -version 2.0.0 -out dist linux-amd64 windows-amd64
//
// It runs in the top directory of the repository, after command archive has packed the kubectl plugin for these
// platforms into the directory of -out, and writes there
//
//   - restarts.yaml, the plugin's manifest for krew,
//   - kubectl-restarts.rb, its formula for Homebrew,
//   - CHANGES.md, what is new, for the page of the release.
//
// What the first two say of an archive, it reads from the archive: its checksum and the files in it. Where the archives
// will be follows from home in the chart.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Stdout, ".", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "listings:", err)
		os.Exit(1)
	}
}

// run writes the files of the repository at the directory top.
func run(say io.Writer, top string, arguments []string) error {
	var version, out string
	flags := flag.NewFlagSet("listings", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&version, "version", "", "the version that is released")
	flags.StringVar(&out, "out", "dist", "the directory with the archives, to write to")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if version == "" || flags.NArg() == 0 {
		return errors.New("give -version, and the platforms as in linux-amd64")
	}
	r := release{version: version}
	var err error
	if r.home, err = homeOf(top); err != nil {
		return err
	}
	for _, platform := range flags.Args() {
		a, err := readArchive(out, version, platform)
		if err != nil {
			return err
		}
		r.archives = append(r.archives, a)
	}
	for _, listing := range []struct {
		name, what string
		content    func() ([]byte, error)
	}{
		{plugin + ".yaml", "the manifest for krew", r.krew},
		{program + ".rb", "the formula for Homebrew", r.formula},
		{"CHANGES.md", "what is new", func() ([]byte, error) { return r.changes(top) }},
	} {
		content, err := listing.content()
		if err != nil {
			return err
		}
		path := filepath.Join(out, listing.name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(say, "%s: %s\n", path, listing.what)
	}
	return nil
}
