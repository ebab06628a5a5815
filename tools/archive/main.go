// Command archive packs the kubectl plugin for those who download it:
//
//	archive -version 2.0.0 -created 1790000000 -out dist -with LICENSE linux-amd64=BINARY windows-amd64=BINARY
//
// For each platform it writes kubectl-restarts_VERSION_OS_ARCH.tar.gz, a zip file for Windows, with the program and the
// files of -with, and beside it the list of what the program was built from (an SBOM, in the format CycloneDX). The
// same arguments give the same bytes.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kubernetes-deployment-restart-controller/tools/sbom"
)

const program = "kubectl-restarts"

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "archive:", err)
		os.Exit(1)
	}
}

// release is what all archives have in common.
type release struct {
	version string
	created time.Time
	out     string
	with    []file
}

func run(say io.Writer, arguments []string) error {
	var (
		r       release
		seconds int64
		paths   []string
	)
	flags := flag.NewFlagSet("archive", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&r.version, "version", "", "the program's version")
	flags.Int64Var(&seconds, "created", 0, "the time of the commit that it was built from, in seconds since 1970")
	flags.StringVar(&r.out, "out", "dist", "the directory to write to")
	flags.Func("with", "a file to put beside the program; can be repeated", func(path string) error {
		paths = append(paths, path)
		return nil
	})
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if r.version == "" || flags.NArg() == 0 {
		return errors.New("give -version, and a binary for each platform as in linux-amd64=PATH")
	}
	r.created = time.Unix(seconds, 0).UTC()
	for _, path := range paths {
		f, err := read(path, filepath.Base(path))
		if err != nil {
			return err
		}
		r.with = append(r.with, f)
	}
	for _, argument := range flags.Args() {
		if err := r.pack(say, argument); err != nil {
			return fmt.Errorf("%s: %w", argument, err)
		}
	}
	return nil
}

// pack writes the archive of one platform, and its SBOM.
func (r *release) pack(say io.Writer, argument string) error {
	platform, path, found := strings.Cut(argument, "=")
	system, architecture, isPlatform := strings.Cut(platform, "-")
	if !found || !isPlatform {
		return errors.New("not of the form OS-ARCH=PATH")
	}
	name, archive, ending := program, tarball, ".tar.gz"
	if system == "windows" {
		name, archive, ending = program+".exe", zipFile, ".zip"
	}
	binary, err := read(path, name)
	if err != nil {
		return err
	}
	binary.isProgram = true
	var packed, bill bytes.Buffer
	if err := archive(&packed, append([]file{binary}, r.with...), r.created); err != nil {
		return err
	}
	if err := sbom.Write(&bill, binary.content, r.version, r.created); err != nil {
		return fmt.Errorf("list what it was built from: %w", err)
	}
	stem := filepath.Join(r.out, fmt.Sprintf("%s_%s_%s_%s", program, r.version, system, architecture))
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(stem+ending, packed.Bytes(), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(stem+".cdx.json", bill.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(say, "%s: the kubectl plugin\n%s: what it was built from (CycloneDX)\n", stem+ending, stem+".cdx.json")
	return nil
}
