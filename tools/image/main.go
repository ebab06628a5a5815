// Command image makes a container image out of a program's binaries, without a container engine:
//
//	image -program kubectl-restarts -version 2.0.0 -commit 0a1b2c3d -created 1790000000 -out dist amd64=BINARY arm64=BINARY
//
// It writes, for each platform, an archive that `docker load` and `podman load` accept and the list of what the binary
// was built from (an SBOM, in the format CycloneDX); and the image of all platforms as an OCI layout, for tools that
// push it to a registry. The same arguments give the same bytes.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(say io.Writer, arguments []string) error {
	var (
		of      description
		seconds int64
		out     string
		tag     string
	)
	flags := flag.NewFlagSet("image", flag.ExitOnError)
	flags.StringVar(&of.name, "program", programs[0].name, "the program: the controller or kubectl-restarts")
	flags.StringVar(&of.version, "version", "", "the program's version")
	flags.StringVar(&of.commit, "commit", "unknown", "the commit that it was built from")
	flags.Int64Var(&seconds, "created", 0, "the time of that commit, in seconds since 1970")
	flags.StringVar(&out, "out", "dist", "the directory to write to")
	flags.StringVar(&tag, "tag", "", "the image's name for docker load (default PROGRAM:VERSION)")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if of.version == "" || flags.NArg() == 0 {
		return fmt.Errorf("give -version, and a binary for each platform as in amd64=PATH")
	}
	i := slices.IndexFunc(programs, func(p program) bool { return p.name == of.name })
	if i < 0 {
		return fmt.Errorf("-program %q is not known", of.name)
	}
	of.program = programs[i]
	if tag == "" {
		tag = of.name + ":" + of.version
	}
	reference, err := name.NewTag(tag)
	if err != nil {
		return fmt.Errorf("the name of the image (IMAGE, -tag): %w", err)
	}
	of.created = time.Unix(seconds, 0).UTC()
	var binaries []binary
	for _, argument := range flags.Args() {
		architecture, path, found := strings.Cut(argument, "=")
		if !found {
			return fmt.Errorf("%q is not of the form ARCHITECTURE=PATH", argument)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		binaries = append(binaries, binary{architecture: architecture, content: content})
	}
	return write(say, out, reference, of, binaries)
}
