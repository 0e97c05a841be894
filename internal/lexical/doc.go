// Package lexical turns text into the terms of a word index.
//
// It knows no language in particular and treats any string as legal, invalid
// UTF-8 included, in time linear in its length. What is written differently
// but means the same ends as the same term:
//
//   - full-width and compatibility forms (NFKC), case, accents, zero-width
//     characters, traditional and simplified Chinese, katakana and hiragana;
//
//   - English words by a light stemmer and a table of irregular forms, with
//     the commonest function words left out;
//
//   - scripts written without spaces (Han, kana, hangul) as single characters
//     and as pairs, Thai and its neighbours as pairs, so that any two
//     characters of a text can be found;
//
//   - identifiers, paths, addresses, versions and hyphenated names as their
//     parts and as one joined term (user_id: user, id, userid), and short runs
//     of ASCII together with the Chinese character beside them (C盘);
//
//   - Chinese words also as the English stems of their dictionary glosses, so
//     that the two languages meet in one index.
//
//     a := lexical.New(gloss.Default())
//     a.Tokens("The cafés near C盘") // "cafe" "near" "c" "c盘" "盘" ...
//
// Here is no scoring and no index: that is vector/index. The dictionary is
// internal/gloss, reached through the small interface [Dictionary].
package lexical
