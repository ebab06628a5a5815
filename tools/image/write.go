package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"kubernetes-deployment-restart-controller/tools/sbom"
)

// write makes all files, and says what each is for. It replaces what an earlier run wrote.
func write(say io.Writer, out string, tag name.Tag, of description, binaries []binary) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	images := make([]v1.Image, len(binaries))
	for i, b := range binaries {
		image, err := imageOf(b, of)
		if err != nil {
			return fmt.Errorf("image for %s: %w", b.architecture, err)
		}
		images[i] = image
		archive := filepath.Join(out, fileName(of, b, ".tar"))
		if err := tarball.WriteToFile(archive, tag, image); err != nil {
			return fmt.Errorf("write %s: %w", archive, err)
		}
		fmt.Fprintf(say, "%s: for docker load or podman load, as %s\n", archive, tag)
		if err := writeBillOfMaterials(say, filepath.Join(out, fileName(of, b, ".cdx.json")), of, b); err != nil {
			return err
		}
	}
	return writeLayout(say, filepath.Join(out, of.layout), indexOf(images, binaries, of), of)
}

func fileName(of description, b binary, ending string) string {
	return fmt.Sprintf("%s-%s-linux-%s%s", of.name, of.version, b.architecture, ending)
}

func writeLayout(say io.Writer, directory string, index v1.ImageIndex, of description) error {
	if err := os.RemoveAll(directory); err != nil {
		return err
	}
	all, err := layout.Write(directory, empty.Index)
	if err != nil {
		return fmt.Errorf("write %s: %w", directory, err)
	}
	err = all.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": of.version}))
	if err != nil {
		return fmt.Errorf("write %s: %w", directory, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintf(say, "%s: an OCI layout of all platforms, to push with crane or skopeo; %s\n", directory, digest)
	return nil
}

func writeBillOfMaterials(say io.Writer, file string, of description, b binary) error {
	var encoded bytes.Buffer
	if err := sbom.Write(&encoded, b.content, of.version, of.created, modulesOfAuthorities()...); err != nil {
		return fmt.Errorf("list what the binary for %s was built from: %w", b.architecture, err)
	}
	if err := os.WriteFile(file, encoded.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(say, "%s: what the binary was built from (CycloneDX)\n", file)
	return nil
}
