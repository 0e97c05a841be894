package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// checkURL takes the base URL of an HTTP server, or nothing.
func checkURL(s string) error {
	if s == "" {
		return nil
	}
	if err := checkID(s); err != nil {
		return err
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return errors.New("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("must begin with http:// or https:// and name a host")
	case u.User != nil:
		return errors.New("must not have a user or password in it; a key goes into embedding.api_key")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("must not have ? or # in it")
	}
	return nil
}

// checkDSN takes the URL of a PostgreSQL database, or nothing. The value is secret, so no
// message quotes it.
func checkDSN(s string) error {
	if s == "" {
		return nil
	}
	if err := checkID(s); err != nil {
		return err
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return errors.New("must have the form postgres://user:password@host:5432/database, special characters of the password as %XX")
	}
	return nil
}

func checkHost(s string) error {
	if strings.ContainsAny(s, "/@ \t?#") || strings.Contains(s, "://") {
		return errors.New("must be a host name or an address alone: the port and ssl have keys of their own")
	}
	return checkID(s)
}

// Headers of a value that the key's check has passed.
func parseHeaders(s string) (map[string]string, error) {
	out := map[string]string{}
	if strings.TrimSpace(s) == "" {
		return out, nil
	}
	if err := json.Unmarshal([]byte(s), &out); err != nil {
		return nil, errors.New(`must be a JSON object of strings, such as {"Authorization": "Bearer ..."}`)
	}
	return out, nil
}

func checkHeaders(s string) error {
	h, err := parseHeaders(s)
	if err != nil {
		return err
	}
	for name, value := range h {
		if name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return fmt.Errorf("has a header name that HTTP does not allow: %q", name)
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("has a line break in the value of the header %s", name)
		}
	}
	return nil
}

// HeaderMap returns Headers as a map.
func (v VectorDB) HeaderMap() map[string]string {
	h, err := parseHeaders(v.Headers)
	if err != nil {
		return map[string]string{} // checked when it was read
	}
	return h
}

func checkCollection(s string) error {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && (i == 0 || r != '-' && r != '_' && r != '.') {
			return errors.New("must begin with a letter or digit and have only letters, digits, - _ . in it")
		}
	}
	return nil
}
