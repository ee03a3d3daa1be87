# What stands in the home and outside of every world, for hostile programs to change.
mkdir -p $H/.ssh $H/.aws $H/.config/fish/conf.d $H/.config/autostart $H/.bashrc.d $H/.local/state $H/.local/share $H/.cache
printf 'for part in "$HOME"/.bashrc.d/*; do . "$part"; done\n' > $H/.bashrc
echo true > $H/.bashrc.d/one.sh; echo '. "$HOME/.bashrc"' > $H/.profile; cp $H/.profile $H/.bash_profile
printf '[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n[protocol "file"]\n\tallow = always\n[advice]\n\tdetachedHead = false\n[maintenance]\n\tauto = false\n' > $H/.gitconfig
mkdir -p $H/.config/git; echo '*~' > $H/.config/git/ignore
echo key > $H/.ssh/id_rsa; echo 'Host x' > $H/.ssh/config; echo secret > $H/.aws/credentials; echo text > $H/notes
echo bait > $O/file; mkdir -p $O/dir $O/other; echo bait > $O/dir/file; git init -q $O/other; echo 'export A=1' > $O/other/.envrc
