# Build with `make docker-image`, or: docker build --build-arg VERSION=2.0.0 --build-arg COMMIT=$(git rev-parse HEAD) .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src

# The modules first: they change seldom and make a layer of their own.
COPY go.mod go.sum ./
RUN go mod download

COPY . .
ARG TARGETOS=linux
ARG TARGETARCH
ARG COMMIT=unknown
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.commit=$COMMIT" \
    -o /kubernetes-deployment-restart-controller .

FROM scratch
ARG VERSION=unknown
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="kubernetes-deployment-restart-controller" \
      org.opencontainers.image.description="Restarts Kubernetes workloads when their ConfigMaps or Secrets change" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
# For API servers that are reached through a kubeconfig with a publicly signed certificate.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /kubernetes-deployment-restart-controller /kubernetes-deployment-restart-controller
USER 65532:65532
EXPOSE 10254
ENTRYPOINT ["/kubernetes-deployment-restart-controller"]
