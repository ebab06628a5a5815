package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// archive is the plugin for one platform, as command archive packs it.
type archive struct {
	system, architecture string
	name                 string // of the file
	sum                  string // SHA-256, in hexadecimal
	files                []string
	programs             []string // those of the files that can be run
}

func readArchive(directory, version, platform string) (archive, error) {
	system, architecture, isPlatform := strings.Cut(platform, "-")
	if !isPlatform {
		return archive{}, fmt.Errorf("%q is not of the form OS-ARCH", platform)
	}
	a := archive{system: system, architecture: architecture}
	ending, list := ".tar.gz", a.listTarball
	if system == "windows" {
		ending, list = ".zip", a.listZip
	}
	a.name = fmt.Sprintf("%s_%s_%s_%s%s", program, version, system, architecture, ending)
	content, err := os.ReadFile(filepath.Join(directory, a.name))
	if err != nil {
		return archive{}, err
	}
	a.sum = fmt.Sprintf("%x", sha256.Sum256(content))
	if err := list(content); err != nil {
		return archive{}, fmt.Errorf("%s: %w", a.name, err)
	}
	if !slices.Contains(a.programs, a.binary()) {
		return archive{}, fmt.Errorf("%s: no program %s is in it", a.name, a.binary())
	}
	return a, nil
}

// binary returns the name of the plugin's program in the archive.
func (a *archive) binary() string {
	if a.system == "windows" {
		return program + ".exe"
	}
	return program
}

func (a *archive) add(name string, mode fs.FileMode) {
	a.files = append(a.files, name)
	if mode&0o111 != 0 {
		a.programs = append(a.programs, name)
	}
}

func (a *archive) listTarball(content []byte) error {
	uncompressed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return err
	}
	for all := tar.NewReader(uncompressed); ; {
		header, err := all.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		a.add(header.Name, header.FileInfo().Mode())
	}
}

func (a *archive) listZip(content []byte) error {
	all, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	for _, f := range all.File {
		a.add(f.Name, f.Mode())
	}
	return nil
}
