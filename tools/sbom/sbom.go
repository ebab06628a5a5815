// Package sbom lists what Go binaries were built from, in the format CycloneDX.
package sbom

import (
	"bytes"
	"debug/buildinfo"
	"io"
	"runtime/debug"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// Write writes the modules that the go command linked into a binary, as it noted them there, the standard library, and
// modules of which data goes with the binary. The binary, and modules of this repository that it contains, have the
// given version. The same arguments give the same bytes.
func Write(to io.Writer, binary []byte, version string, created time.Time, data ...*debug.Module) error {
	bill, err := billOfMaterials(binary, version, created, data)
	if err != nil {
		return err
	}
	encoder := cyclonedx.NewBOMEncoder(to, cyclonedx.BOMFileFormatJSON)
	encoder.SetPretty(true)
	return encoder.Encode(bill)
}

func billOfMaterials(binary []byte, version string, created time.Time, data []*debug.Module) (*cyclonedx.BOM, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, err
	}
	self := component(cyclonedx.ComponentTypeApplication, info.Main.Path, version)
	parts := []cyclonedx.Component{
		component(cyclonedx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go")),
	}
	for _, module := range info.Deps {
		name, at := identify(module, version)
		parts = append(parts, component(cyclonedx.ComponentTypeLibrary, name, at))
	}
	for _, module := range data {
		parts = append(parts, component(cyclonedx.ComponentTypeData, module.Path, module.Version))
	}

	references := make([]string, len(parts))
	for i := range parts {
		references[i] = parts[i].BOMRef
	}
	bill := cyclonedx.NewBOM()
	bill.Metadata = &cyclonedx.Metadata{Timestamp: created.Format(time.RFC3339), Component: &self}
	bill.Components = &parts
	bill.Dependencies = &[]cyclonedx.Dependency{{Ref: self.BOMRef, Dependencies: &references}}
	return bill, nil
}

// identify returns what a module is known as. One that a directory replaces is of this repository.
func identify(module *debug.Module, version string) (name, at string) {
	switch {
	case module.Replace == nil:
		return module.Path, module.Version
	case strings.HasPrefix(module.Replace.Path, "."):
		return module.Path, version
	}
	return module.Replace.Path, module.Replace.Version
}

// component describes a Go module. Its package URL, by which scanners find known vulnerabilities, is its identity, too.
func component(kind cyclonedx.ComponentType, module, version string) cyclonedx.Component {
	url := "pkg:golang/" + module + "@" + version
	return cyclonedx.Component{BOMRef: url, Type: kind, Name: module, Version: version, PackageURL: url}
}
