#compdef fabricast
# Completion of fabricast in zsh: `source <(fabricast completion zsh)` after compinit, or this file
# as _fabricast in a folder of $fpath. The program itself says what fits.

_fabricast() {
  local line word
  local -a typed closed open
  typed=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
  for line in "${(@f)$("${~words[1]}" __complete -- "${typed[@]}" 2>/dev/null)}"; do
    [[ -n $line ]] || continue
    word=${line%%$'\t'*}
    if [[ $word == *[/=:] ]]; then
      open+=("${word//:/\\:}:${line#*$'\t'}") # goes on: no blank after it
    else
      closed+=("${word//:/\\:}:${line#*$'\t'}")
    fi
  done
  _describe -t values fabricast closed -- open -S ''
}

if [[ $funcstack[1] == _fabricast ]]; then
  _fabricast "$@"
else
  compdef _fabricast fabricast
fi
