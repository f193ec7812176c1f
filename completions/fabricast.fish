# Completion of fabricast in fish: `fabricast completion fish | source`, or this file as
# ~/.config/fish/completions/fabricast.fish. The program itself says what fits.

function __fabricast_complete
    set -l typed (commandline -opc)
    $typed[1] __complete -- $typed[2..] (commandline -ct) 2>/dev/null
end

complete -c fabricast -f -a '(__fabricast_complete)'
