# A static binary on an empty image, run by a user without rights.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -tags arrow_json_stdlib -ldflags "-s -w -X main.release=${VERSION}" -o /sdlfilter ./cmd/sdlfilter

FROM scratch
COPY --from=build /sdlfilter /sdlfilter
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/sdlfilter"]
