package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// file is a file of an archive.
type file struct {
	name      string
	content   []byte
	isProgram bool
}

func read(path, name string) (file, error) {
	content, err := os.ReadFile(path)
	return file{name: name, content: content, isProgram: strings.HasPrefix(string(content), "#!")}, err
}

func (f *file) mode() fs.FileMode {
	if f.isProgram {
		return 0o755
	}
	return 0o644
}

// tarball writes files as a compressed tar archive, as of one time and of nobody in particular.
func tarball(to io.Writer, files []file, created time.Time) error {
	compressed := gzip.NewWriter(to)
	archive := tar.NewWriter(compressed)
	for i := range files {
		f := &files[i]
		header := &tar.Header{Name: f.name, Mode: int64(f.mode()), Size: int64(len(f.content)), ModTime: created, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.content); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

// zipFile does so as a zip archive. Scripts for a shell are of no use where it is needed.
func zipFile(to io.Writer, files []file, created time.Time) error {
	archive := zip.NewWriter(to)
	for i := range files {
		f := &files[i]
		if strings.HasPrefix(string(f.content), "#!") {
			continue
		}
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: created}
		header.SetMode(f.mode())
		into, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := into.Write(f.content); err != nil {
			return err
		}
	}
	return archive.Close()
}
