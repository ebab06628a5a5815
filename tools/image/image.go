package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// A program is what an image runs.
type program struct {
	name, description string
	ports             map[string]struct{}
	layout            string // the OCI layout's place below the directory that is written to
}

var programs = []program{
	{
		name: "kubernetes-deployment-restart-controller", description: "Restarts Kubernetes workloads when their ConfigMaps or Secrets change",
		ports: map[string]struct{}{"10254/tcp": {}}, layout: "oci",
	},
	{
		name: "kubectl-restarts", description: "Shows what changes of ConfigMaps and Secrets restart, and waits for it, such as in a Job",
		layout: "oci-kubectl-restarts",
	},
}

const (
	// Any user but root does, since the programs need no file of their own. It is given as a number, so that the kubelet can check
	// runAsNonRoot.
	user = "65532:65532"

	certificates = "etc/ssl/certs/ca-certificates.crt" // where Go programs look first
)

// A description is what an image says of itself on each platform.
type description struct {
	program
	version, commit string
	created         time.Time // of the image and all its files
}

func (d description) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       d.name,
		"org.opencontainers.image.description": d.description,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     d.version,
		"org.opencontainers.image.revision":    d.commit,
		"org.opencontainers.image.created":     d.created.Format(time.RFC3339),
	}
}

// A binary is the program for Linux on one architecture, as Go names it.
type binary struct {
	architecture string
	content      []byte
}

func (b binary) platform() v1.Platform {
	return v1.Platform{OS: "linux", Architecture: b.architecture}
}

// imageOf returns an image with nothing in it but the binary and the certificates of public authorities, which a
// kubeconfig may need; in a cluster, the ServiceAccount brings the authority of the API server.
func imageOf(b binary, of description) (v1.Image, error) {
	authorities, err := layer(certificates, 0o644, publicAuthorities(), of.created)
	if err != nil {
		return nil, err
	}
	executable, err := layer(of.name, 0o755, b.content, of.created)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: of.created}
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: authorities, History: v1.History{Created: created, CreatedBy: "certificates of public authorities"}},
		mutate.Addendum{Layer: executable, History: v1.History{Created: created, CreatedBy: "go build"}})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", b.architecture, created
	file.Config = v1.Config{
		User:         user,
		Entrypoint:   []string{"/" + of.name},
		ExposedPorts: of.ports,
		Labels:       of.labels(),
	}
	return mutate.ConfigFile(image, file)
}

// indexOf returns the one image of all platforms, from which a container runtime picks its own.
func indexOf(images []v1.Image, binaries []binary, of description) v1.ImageIndex {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, image := range images {
		platform := binaries[i].platform()
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return mutate.Annotations(index, of.labels()).(v1.ImageIndex)
}

// layer returns a layer with one file and the directories above it.
func layer(file string, mode int64, content []byte, modified time.Time) (v1.Layer, error) {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for i, c := range file {
		if c == '/' {
			directory := &tar.Header{Typeflag: tar.TypeDir, Name: file[:i+1], Mode: 0o755, ModTime: modified}
			if err := writer.WriteHeader(directory); err != nil {
				return nil, err
			}
		}
	}
	if err := writer.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file, Mode: mode, Size: int64(len(content)), ModTime: modified}); err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("pack %s: %w", path.Base(file), err)
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching)
}

// publicAuthorities returns Mozilla's list of root certificates as a PEM file. It leaves out the few that Mozilla
// trusts for some certificates only, because such a file cannot say so.
func publicAuthorities() []byte {
	var file strings.Builder
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			file.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return []byte(file.String())
}
